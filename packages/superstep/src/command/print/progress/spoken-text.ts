/**
 * Writes the text of agents as it streams, one agent at a time: while several stream at once, the others are buffered, so
 * that no text is interleaved. A retried reply continues where the first attempt stopped.
 */
import type { RunEvent } from "@superstep/engine"
import type { Watcher } from "./watcher.ts"

interface Speech {
  /** The call that streams. */
  call: string
  /** The characters received of it. */
  received: number
  /** Text that is not yet written. */
  buffered: string
  isOver: boolean
}

export interface SpokenText extends Required<Watcher> {
  /** Text was written. */
  readonly hasSpoken: boolean
}

/** `flushOutput`: an agent has ended, or a question follows. */
export function spokenText(
  write: (text: string) => void,
  flushOutput: () => void = () => undefined,
): SpokenText {
  const speeches = new Map<string, Speech>()
  let hasSpoken = false
  let isAtLineStart = true

  const say = (text: string): void => {
    if (text === "") return
    write(text)
    hasSpoken = true
    isAtLineStart = text.endsWith("\n")
  }
  /** Writes every agent up to the first that has not ended. */
  const flush = (): void => {
    for (const [key, speech] of speeches) {
      say(speech.buffered)
      speech.buffered = ""
      if (!speech.isOver) return
      if (!isAtLineStart) say("\n")
      flushOutput()
      speeches.delete(key)
    }
  }
  const keyOf = ({ path }: RunEvent, task: number) => [...path, task].join("/")

  return {
    get hasSpoken() {
      return hasSpoken
    },
    event(event) {
      switch (event.type) {
        case "model.delta": {
          if (event.kind !== "text") return
          const key = keyOf(event, event.task)
          const speech = speeches.get(key) ?? { call: event.call, received: 0, buffered: "", isOver: false }
          speeches.set(key, speech)
          if (speech.call !== event.call) {
            // Another turn of the same agent.
            if (speech.received > 0) speech.buffered += "\n"
            speech.call = event.call
            speech.received = 0
          }
          const fresh = event.text.slice(Math.max(0, speech.received - event.offset))
          speech.received = Math.max(speech.received, event.offset + event.text.length)
          speech.buffered += fresh
          return flush()
        }
        case "task.finished":
        case "task.failed":
        case "task.cancelled": {
          const speech = speeches.get(keyOf(event, event.task))
          if (speech === undefined) return
          speech.isOver = true
          return flush()
        }
        default:
      }
    },
    pause() {
      if (!isAtLineStart) say("\n")
      flushOutput()
    },
    resume: () => undefined,
    end() {
      for (const speech of speeches.values()) speech.isOver = true
      flush()
    },
  }
}
