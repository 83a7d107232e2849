/**
 * The zoom of a timeline. Buttons keep the middle of the screen where it is; dragging over a range fills the screen with it; a
 * double click or Escape shows the whole run again. Fingers scroll.
 */
import { type PointerEvent, type RefObject, useLayoutEffect, useMemo, useRef, useState } from "react"
import { type Lane, scaleOf, timeAt } from "./timeline-model.ts"

const MAX_ZOOM = 64
/** Pixels that a press may move and still be a click. */
const SLACK = 4

/** Pixels of the drawing, without the names. */
interface Range {
  readonly from: number
  readonly to: number
}

export function useZoom(
  scroller: RefObject<HTMLDivElement | null>,
  lanes: readonly Lane[],
  end: number,
  width: number,
  /** Pixels before the first bar. */
  before: number,
) {
  const [zoom, setZoom] = useState(1)
  const [range, setRange] = useState<Range>()
  /** Where it was pressed, while the button is down. */
  const pressed = useRef<number>(undefined)
  /** The next drawing has this time at `x` pixels of the screen. */
  const kept = useRef<{ readonly time: number; readonly x: number }>(undefined)

  const scale = useMemo(() => scaleOf(lanes, end, width * zoom), [lanes, end, width, zoom])
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each drawing
  useLayoutEffect(() => {
    if (kept.current !== undefined && scroller.current !== null)
      scroller.current.scrollLeft = scale.place(kept.current.time) - kept.current.x
    kept.current = undefined
  }, [scale])

  const zoomTo = (next: number, time: number, x: number) => {
    kept.current = { time, x }
    setZoom(Math.min(MAX_ZOOM, Math.max(1, next)))
  }
  const placeOf = ({ clientX }: PointerEvent): number => {
    const { left } = (scroller.current as HTMLElement).getBoundingClientRect()
    return Math.max(0, clientX - left - before + (scroller.current?.scrollLeft ?? 0))
  }
  return {
    zoom,
    scale,
    range,
    canZoomIn: zoom < MAX_ZOOM,
    zoomBy(factor: number) {
      const middle = width / 2
      zoomTo(zoom * factor, timeAt(scale, (scroller.current?.scrollLeft ?? 0) + middle), middle)
    },
    reset: () => setZoom(1),
    /** Events of the element that scrolls. */
    brush: {
      onPointerDown(event: PointerEvent) {
        const { left } = (scroller.current as HTMLElement).getBoundingClientRect()
        const isOverNames = event.clientX - left < before
        if (event.button === 0 && event.pointerType !== "touch" && !isOverNames)
          pressed.current = placeOf(event)
      },
      onPointerMove(event: PointerEvent) {
        const from = pressed.current
        if (from === undefined) return
        const to = placeOf(event)
        if (range === undefined && Math.abs(to - from) < SLACK) return
        // From now on it is no click of the bar below.
        if (range === undefined) scroller.current?.setPointerCapture(event.pointerId)
        setRange({ from: Math.min(from, to), to: Math.max(from, to) })
      },
      onPointerUp() {
        pressed.current = undefined
        if (range === undefined) return
        setRange(undefined)
        zoomTo((zoom * width) / Math.max(1, range.to - range.from), timeAt(scale, range.from), 0)
      },
      onPointerCancel() {
        pressed.current = undefined
        setRange(undefined)
      },
    },
  }
}
