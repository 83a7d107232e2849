/**
 * Which recording answers a request.
 *
 * Strict: the next one of the caller, and only if its request is the same. Each agent has its own order, because agents
 * that work in parallel come in a different one every time.
 * Lenient: the same request; else the same agent's call with the same ordinal, or one with the same last user message. Of
 * those that fit as well, one that has not been used.
 */
import type { CalledBy } from "./called-by.ts"
import type { Recording } from "./cassette-file.ts"
import { difference, lastUserMessage, type RecordedRequest } from "./cassette-request.ts"
import { Place } from "./place.ts"

export type CassetteMatch = "strict" | "lenient"

export interface Asked extends CalledBy {
  /** `provider/model`, when it is known. */
  readonly model?: string | undefined
  readonly request: RecordedRequest
}

type Found =
  | { readonly recording: Recording }
  /** Nothing was recorded from here on. */
  | { readonly atEnd: true; readonly why: string }
  /** What was recorded is something else. */
  | { readonly atEnd: false; readonly why: string }

export class RecordingFinder {
  readonly #recordings: Recording[]
  readonly #match: CassetteMatch
  readonly #places = new Map<string, Place>()
  readonly #used = new Set<Recording>()
  readonly #calls = new Map<string, number>()

  constructor(recordings: readonly Recording[], match: CassetteMatch) {
    this.#recordings = [...recordings]
    this.#match = match
  }

  find(asked: Asked): Found {
    return this.#match === "strict" ? this.#next(asked) : this.#fitting(asked)
  }

  /** A call that has just been recorded: it is not to answer a later one. */
  add(recording: Recording, asked: Asked): void {
    this.#recordings.push(recording)
    this.#used.add(recording)
    this.#place(asked).passed(this.#of(asked).length - 1)
  }

  #of({ agent, model }: Asked): Recording[] {
    return this.#recordings.filter(
      (recording) => recording.agent === agent && (model === undefined || recording.model === model),
    )
  }

  #place({ agent }: Asked): Place {
    const place = this.#places.get(agent) ?? new Place()
    this.#places.set(agent, place)
    return place
  }

  #next(asked: Asked): Found {
    const own = this.#of(asked)
    const place = this.#place(asked)
    const index = place.of(asked.ordinal, (calls) => {
      const found = own.findIndex(({ ordinal }) => ordinal !== undefined && ordinal >= calls)
      return found < 0 ? own.length : found
    })
    const recording = own[index]
    if (recording === undefined) return { atEnd: true, why: this.#nothingLike(asked, own) }
    if (recording.request.hash !== asked.request.hash) {
      const why = `Call ${index + 1} on it is another: ${difference(recording.request, asked.request)}.`
      return { atEnd: false, why }
    }
    place.passed(index)
    return { recording }
  }

  #fitting(asked: Asked): Found {
    const { agent, model, request } = asked
    const ordinal = asked.ordinal ?? this.#calls.get(agent) ?? 0
    this.#calls.set(agent, (this.#calls.get(agent) ?? 0) + 1)
    const said = lastUserMessage(request)
    let best: { readonly recording: Recording; readonly score: number } | undefined
    for (const recording of this.#recordings) {
      if (model !== undefined && recording.model !== model) continue
      const isSame = recording.request.hash === request.hash
      const isTurn = recording.agent === agent && (recording.ordinal ?? recording.call) === ordinal
      const isSaid = said !== undefined && lastUserMessage(recording.request) === said
      if (!isSame && !isTurn && !isSaid) continue
      const score =
        (isSame ? 32 : 0) +
        (isTurn ? 16 : 0) +
        (isSaid ? 8 : 0) +
        (recording.agent === agent ? 4 : 0) +
        (this.#used.has(recording) ? 0 : 1)
      // Of those that have been used all alike, the last: what was tried again came through in the end.
      const isBetter = best === undefined || score > best.score || (score === best.score && score % 2 === 0)
      if (isBetter) best = { recording, score }
    }
    if (best === undefined) return { atEnd: true, why: this.#nothingLike(asked, this.#of(asked)) }
    this.#used.add(best.recording)
    return { recording: best.recording }
  }

  #nothingLike(asked: Asked, own: readonly Recording[]): string {
    const nearest = nearestTo(asked.request, own.length > 0 ? own : this.#recordings)
    const has = `It has ${own.length} of ${this.#recordings.length} calls by this caller`
    if (nearest === undefined) return `${has}.`
    return `${has}; against the nearest, ${difference(nearest.request, asked.request)}.`
  }
}

/** The one that shares the most messages with a request. */
function nearestTo(request: RecordedRequest, recordings: readonly Recording[]): Recording | undefined {
  const hashes = new Set(request.messages.map(({ hash }) => hash))
  let nearest: Recording | undefined
  let most = -1
  for (const recording of recordings) {
    const { messages } = recording.request
    const shared = messages.filter(({ hash }) => hashes.has(hash)).length
    const closeness = shared - Math.abs(messages.length - request.messages.length) / 1_000
    if (closeness > most) {
      nearest = recording
      most = closeness
    }
  }
  return nearest
}
