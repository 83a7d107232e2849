/**
 * What agents say, as it comes: one at a time. While several talk at once, the first is heard and the others wait for their
 * turn, so that no text is torn. A reply that is tried again goes on where the first left off.
 */
import type { RunEvent } from "@superstep/engine"
import type { Watcher } from "./watcher.ts"

interface Speech {
  /** Of the reply that is coming. */
  call: string
  /** How much of it was heard. */
  heard: number
  /** What is not yet written. */
  waiting: string
  isOver: boolean
}

export interface SpokenText extends Watcher {
  /** Something was written. */
  readonly hasSpoken: boolean
}

export function spokenText(write: (text: string) => void): SpokenText {
  const speeches = new Map<string, Speech>()
  let hasSpoken = false
  let isAtLineStart = true

  const say = (text: string): void => {
    if (text === "") return
    write(text)
    hasSpoken = true
    isAtLineStart = text.endsWith("\n")
  }
  /** The first that is not over is heard; those before it were said to their end. */
  const flush = (): void => {
    for (const [key, speech] of speeches) {
      say(speech.waiting)
      speech.waiting = ""
      if (!speech.isOver) return
      if (!isAtLineStart) say("\n")
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
          const speech = speeches.get(key) ?? { call: event.call, heard: 0, waiting: "", isOver: false }
          speeches.set(key, speech)
          if (speech.call !== event.call) {
            // Another turn of the same agent.
            if (speech.heard > 0) speech.waiting += "\n"
            speech.call = event.call
            speech.heard = 0
          }
          const fresh = event.text.slice(Math.max(0, speech.heard - event.offset))
          speech.heard = Math.max(speech.heard, event.offset + event.text.length)
          speech.waiting += fresh
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
    },
    resume: () => undefined,
    end() {
      for (const speech of speeches.values()) speech.isOver = true
      flush()
    },
  }
}
