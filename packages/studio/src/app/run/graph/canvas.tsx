/**
 * A drawing that is moved and zoomed: by mouse, wheel and fingers, and with buttons. The camera is no state of a component: a
 * move changes one style, and nothing is rendered again.
 *
 * C1  The camera changes only when somebody moves it, for another drawing, or to keep `anchor` where it is on the screen.
 * C2  A press that moved the drawing clicks nothing.
 * C3  What the keyboard reaches outside of the screen comes into view.
 */
import {
  type MouseEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react"
import { IconButton } from "../../ui/button.tsx"
import { type Camera, fitted, moved, zoomed } from "./camera.ts"
import styles from "./graph.module.css"

interface CanvasProps {
  readonly width: number
  readonly height: number
  /** What is drawn: another drawing is fitted into the view again. */
  readonly drawing: string | undefined
  /** A place of the drawing that stays where it is on the screen when the drawing changes. */
  readonly anchor: { readonly x: number; readonly y: number } | undefined
  /** Within a page that scrolls, the wheel is the page's. */
  readonly isInPage: boolean
  readonly onZoom: (zoom: number) => void
  /** A click on something of the drawing, or beside everything. */
  readonly onPick: (target: Element) => void
  /** A line was drawn from one `data-node` to another. Undefined: none can be drawn. */
  readonly onConnect: ((from: string, to: string) => void) | undefined
  readonly children: ReactNode
}

interface Point {
  readonly x: number
  readonly y: number
}

/** Pixels that a press may move and still be a click. */
const SLACK = 4
const STEP = 1.3
/** Pixels between the dots of the background, at least. */
const MIN_GAP = 12

/** How far something between two places must move to be between two others. */
function intoView(from: number, to: number, least: number, most: number): number {
  if (from < least) return least + EDGE - from
  return to > most ? most - EDGE - to : 0
}

/** Pixels between what came into view and the edge of the screen. */
const EDGE = 24

export function Canvas(props: CanvasProps) {
  const { width, height, drawing, anchor, isInPage, onZoom, onPick, onConnect, children } = props
  const pane = useRef<HTMLDivElement>(null)
  const world = useRef<HTMLDivElement>(null)
  const camera = useRef<Camera>(undefined)
  const kept = useRef(anchor)
  const drawn = useRef(drawing)
  const pointers = useRef(new Map<number, Point>())
  const hasMoved = useRef(false)
  const [line, setLine] = useState<{ readonly node: string; readonly from: Point; readonly to: Point }>()

  const show = (next: Camera) => {
    camera.current = next
    const { x, y, zoom } = next
    if (world.current !== null) world.current.style.transform = `translate(${x}px, ${y}px) scale(${zoom})`
    if (pane.current === null) return
    onZoom(zoom)
    let gap = 20 * zoom
    while (gap < MIN_GAP) gap *= 2
    pane.current.style.backgroundSize = `${gap}px ${gap}px`
    pane.current.style.backgroundPosition = `${x}px ${y}px`
  }
  const fit = () => {
    const { clientWidth, clientHeight } = pane.current as HTMLElement
    if (clientWidth > 0) show(fitted({ width, height }, { width: clientWidth, height: clientHeight }))
  }
  const zoom = (factor: number) => {
    const { clientWidth, clientHeight } = pane.current as HTMLElement
    if (camera.current !== undefined) show(zoomed(camera.current, factor, clientWidth / 2, clientHeight / 2))
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each drawing
  useLayoutEffect(() => {
    const now = camera.current
    if (now === undefined || drawn.current !== drawing) fit()
    else if (anchor !== undefined && kept.current !== undefined)
      show(moved(now, (kept.current.x - anchor.x) * now.zoom, (kept.current.y - anchor.y) * now.zoom))
    kept.current = anchor
    drawn.current = drawing
  }, [width, height, anchor, drawing])

  // biome-ignore lint/correctness/useExhaustiveDependencies: it reads the camera where it is
  useEffect(() => {
    const element = pane.current as HTMLElement
    const onWheel = (event: WheelEvent) => {
      if ((isInPage && !event.ctrlKey) || camera.current === undefined) return
      event.preventDefault()
      const { left, top } = element.getBoundingClientRect()
      // Browsers report lines or pixels; a pinch on a trackpad comes as small steps.
      const pixels = event.deltaY * (event.deltaMode === 1 ? 20 : 1) * (event.ctrlKey ? 5 : 1)
      show(zoomed(camera.current, 2 ** (-pixels / 500), event.clientX - left, event.clientY - top))
    }
    // The browser scrolls to what gets the focus, where it can: the camera moves instead (C3).
    const onScroll = () => element.scrollTo(0, 0)
    const onFocus = ({ target }: FocusEvent) => {
      onScroll()
      if (camera.current === undefined || !(target as Element).matches(":focus-visible")) return
      const box = (target as Element).getBoundingClientRect()
      const screen = element.getBoundingClientRect()
      const dx = intoView(box.left, box.right, screen.left, screen.right)
      const dy = intoView(box.top, box.bottom, screen.top, screen.bottom)
      if (dx !== 0 || dy !== 0) show(moved(camera.current, dx, dy))
    }
    element.addEventListener("wheel", onWheel, { passive: false })
    element.addEventListener("scroll", onScroll)
    element.addEventListener("focusin", onFocus)
    // A page that was in no window yet had no size to fit into.
    const observer = new ResizeObserver(() => camera.current === undefined && fit())
    observer.observe(element)
    return () => {
      element.removeEventListener("wheel", onWheel)
      element.removeEventListener("scroll", onScroll)
      element.removeEventListener("focusin", onFocus)
      observer.disconnect()
    }
  }, [isInPage])

  const inWorld = (event: PointerEvent): Point => {
    const { left, top } = (pane.current as HTMLElement).getBoundingClientRect()
    const { x, y, zoom: scale } = camera.current ?? { x: 0, y: 0, zoom: 1 }
    return { x: (event.clientX - left - x) / scale, y: (event.clientY - top - y) / scale }
  }
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return
    hasMoved.current = false
    const node = (event.target as Element).closest("[data-port]")?.getAttribute("data-port")
    if (node !== null && node !== undefined) {
      const at = inWorld(event)
      setLine({ node, from: at, to: at })
      hold(event)
    } else pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY })
  }
  const onPointerMove = (event: PointerEvent) => {
    if (line !== undefined) return setLine({ ...line, to: inWorld(event) })
    const before = pointers.current.get(event.pointerId)
    if (before === undefined || camera.current === undefined) return
    const [dx, dy] = [event.clientX - before.x, event.clientY - before.y]
    if (!hasMoved.current && Math.hypot(dx, dy) < SLACK) return
    if (!hasMoved.current) hold(event)
    hasMoved.current = true
    pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY })
    const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1]
    if (other === undefined) return show(moved(camera.current, dx, dy))
    const { left, top } = (pane.current as HTMLElement).getBoundingClientRect()
    const apart = (one: Point) => Math.max(1, Math.hypot(one.x - other.x, one.y - other.y))
    const factor = apart({ x: event.clientX, y: event.clientY }) / apart(before)
    // Two fingers move the middle between them by half of what one moves.
    const middle = { x: (event.clientX + other.x) / 2 - left, y: (event.clientY + other.y) / 2 - top }
    show(zoomed(moved(camera.current, dx / 2, dy / 2), factor, middle.x, middle.y))
  }
  const onPointerUp = (event: PointerEvent) => {
    pointers.current.delete(event.pointerId)
    if (line === undefined) return
    setLine(undefined)
    hasMoved.current = true
    const target = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-node]")
    const to = target?.getAttribute("data-node")
    if (event.type === "pointerup" && to !== null && to !== undefined && to !== line.node)
      onConnect?.(line.node, to)
  }
  const hold = (event: PointerEvent) => (pane.current as HTMLElement).setPointerCapture(event.pointerId)
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: buttons within do the same for keyboards */}
      <div
        ref={pane}
        className={styles.pane}
        data-page={isInPage || undefined}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={onPointerUp}
        onClick={(event: MouseEvent) => {
          if (!hasMoved.current || event.detail === 0) onPick(event.target as Element)
        }}
      >
        <div ref={world} className={styles.world}>
          {children}
          {line !== undefined && (
            <svg className={styles.lines} aria-hidden="true">
              <path
                className={styles.connection}
                d={`M${line.from.x},${line.from.y} L${line.to.x},${line.to.y}`}
              />
            </svg>
          )}
        </div>
      </div>
      <div className={styles.controls} role="group" aria-label="Camera">
        <IconButton icon="plus" label="Zoom in" onClick={() => zoom(STEP)} />
        <IconButton icon="dash" label="Zoom out" onClick={() => zoom(1 / STEP)} />
        <IconButton icon="fit" label="Fit into view" onClick={fit} />
      </div>
    </>
  )
}
