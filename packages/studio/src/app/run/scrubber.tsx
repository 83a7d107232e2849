/** Time along the bottom: ← and → move by supersteps, with Shift by events; Space plays; End returns to the live run. */
import type { RunView } from "@superstep/engine/protocol"
import { useEffect, useRef, useState } from "react"
import { IconButton } from "../ui/button.tsx"
import { Money } from "../ui/figures.tsx"
import { count, exact, offset, short } from "../ui/format.ts"
import { COMMIT, type RunHistory, stepFrom } from "./history.ts"
import styles from "./scrubber.module.css"

interface ScrubberProps {
  readonly history: RunHistory
  readonly view: RunView
  readonly point: number
  /** It shows the run as it is now. */
  readonly isLive: boolean
  readonly isEnded: boolean
  readonly setAt: (at: number | undefined) => void
}

const PLAY = 350
/** Nobody can distinguish more marks than this. */
const MAX_MARKS = 120

export function Scrubber({ history, view, point, isLive, isEnded, setAt }: ScrubberProps) {
  const [isPlaying, setPlaying] = useState(false)
  const { length } = history
  const move = (to: number) => setAt(to >= length && !isEnded ? undefined : Math.max(0, Math.min(length, to)))
  const step = (direction: 1 | -1) => move(stepFrom(history, point, direction))
  /** At the end, it plays from the beginning. */
  const play = () => {
    if (!isPlaying && point >= length) setAt(0)
    setPlaying(!isPlaying)
  }
  const latest = useRef({ point, length, step, move, play })
  latest.current = { point, length, step, move, play }

  useEffect(() => {
    if (!isPlaying) return
    const timer = setInterval(() => {
      const now = latest.current
      if (now.point >= now.length) setPlaying(false)
      else now.step(1)
    }, PLAY)
    return () => clearInterval(timer)
  }, [isPlaying])

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as Element
      const isTyping =
        target.closest("input, textarea, select, dialog, [role=tablist], [role=tree], [role=grid]") !== null
      if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return
      const now = latest.current
      if (event.key === "ArrowLeft") event.shiftKey ? now.move(now.point - 1) : now.step(-1)
      else if (event.key === "ArrowRight") event.shiftKey ? now.move(now.point + 1) : now.step(1)
      else if (event.key === "Home") now.move(0)
      else if (event.key === "End") now.move(now.length)
      else if (event.key === " " && target.closest("button, a") === null) now.play()
      else return
      event.preventDefault()
    }
    window.addEventListener("keydown", onKey)
    return () => window.removeEventListener("keydown", onKey)
  }, [])

  const { commits, startedAt } = history.outline
  const at = point === 0 ? undefined : history.timeAt(point)
  // Every superstep, or of very many evenly chosen ones.
  const every = Math.ceil(commits.length / COMMIT / MAX_MARKS)
  const marks = Array.from({ length: Math.floor(commits.length / COMMIT / Math.max(1, every)) }, (_, i) => ({
    seq: commits[i * every * COMMIT] as number,
    superstep: commits[i * every * COMMIT + 1] as number,
  }))
  const { inputTokens = 0, outputTokens = 0, usd } = view.usage
  return (
    <section className={styles.scrubber} aria-label="Time">
      <div className={styles.buttons}>
        <IconButton icon="first" label="First event (Home)" onClick={() => move(0)} disabled={point === 0} />
        <IconButton
          icon="back"
          label="Superstep before (←)"
          onClick={() => step(-1)}
          disabled={point === 0}
        />
        <IconButton
          icon={isPlaying ? "pause" : "play"}
          label={isPlaying ? "Pause (Space)" : "Play (Space)"}
          onClick={play}
        />
        <IconButton
          icon="next"
          label="Next superstep (→)"
          onClick={() => step(1)}
          disabled={point >= length}
        />
        <IconButton
          icon="last"
          label="Last event (End)"
          onClick={() => move(length)}
          disabled={point >= length && isLive}
        />
      </div>
      <div className={styles.track}>
        <input
          type="range"
          className={styles.range}
          aria-label="Event"
          aria-valuetext={`event ${point} of ${length}, superstep ${view.superstep}`}
          min={0}
          max={Math.max(1, length)}
          value={point}
          onInput={(change) => move(Number(change.currentTarget.value))}
        />
        <div className={styles.marks} aria-hidden="true">
          {marks.map(({ seq, superstep }) => (
            <span key={seq} className={styles.mark} style={{ left: `${(100 * seq) / Math.max(1, length)}%` }}>
              {marks.length <= 24 ? superstep : ""}
            </span>
          ))}
        </div>
      </div>
      <div className={styles.figures}>
        <span title={at === undefined ? undefined : exact(at)}>
          event {count(point)} / {count(length)}
          {at !== undefined && <span className={styles.dim}> +{offset(at - startedAt)}</span>}
        </span>
        <span className={styles.dim}>
          <Money usd={usd} /> · {short(inputTokens + outputTokens)} tokens
        </span>
      </div>
      <button
        type="button"
        className={styles.live}
        aria-pressed={isLive}
        onClick={() => setAt(isLive ? length : undefined)}
        title={isEnded ? "The run has ended" : "Follow the run as it continues"}
      >
        <span className={styles.dot} data-on={(isLive && !isEnded) || undefined} />
        {isEnded ? "end" : "live"}
      </button>
    </section>
  )
}
