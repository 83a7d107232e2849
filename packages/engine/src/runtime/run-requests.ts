/** The open questions of a run and of everything below it, under ids that are unique in the run. */
import { type Json, type OpenRequest, type RequestId, type RunId, SuperstepError } from "../core/index.ts"
import { outerId } from "./events.ts"
import type { Frame } from "./frame.ts"
import { validate } from "./schema.ts"

export class RunRequests {
  readonly #runId: RunId
  readonly #frames: ReadonlyMap<string, Frame>
  /** Answered requests of sub-workflows that are over. */
  #answered: Set<RequestId> | undefined

  constructor(runId: RunId, frames: ReadonlyMap<string, Frame>) {
    this.#runId = runId
    this.#frames = frames
  }

  list(): OpenRequest[] {
    return [...this.#frames.values()].flatMap((frame) =>
      frame.machine.requests().map((request) => ({ ...request, id: outerId(frame.key, request.id) })),
    )
  }

  /** A frame is over: that its requests were answered stays known. */
  remember(frame: Frame): void {
    for (const id of frame.machine.answered()) {
      this.#answered ??= new Set()
      this.#answered.add(outerId(frame.key, id))
    }
  }

  /** The same, from before a restart. */
  rememberAnswered(ids: readonly RequestId[]): void {
    if (ids.length > 0) this.#answered = new Set([...(this.#answered ?? []), ...ids])
  }

  answeredBelow(): RequestId[] {
    return [...(this.#answered ?? [])]
  }

  /** Validates an answer, then takes it: at most once (M7). */
  async answer(id: RequestId, value: Json, by: string | undefined, mail: string | undefined): Promise<void> {
    const { frame, request } = this.#find(id)
    const schema = await frame.answerSchema(request)
    const checked = schema === undefined ? undefined : await validate(schema, value)
    if (checked?.ok === false) {
      const text = `The answer to request "${id}" does not fit: ${checked.reason}. Nothing was taken; answer again.`
      throw new SuperstepError("REQUEST_INVALID", text)
    }
    // Somebody else may have answered meanwhile.
    this.#find(id)
    const at = frame.host.now()
    frame.apply({
      type: "request.answered",
      at,
      request: request.id,
      value,
      by,
      ...(mail === undefined ? {} : { mail }),
    })
  }

  #find(id: RequestId): { frame: Frame; request: OpenRequest } {
    const slash = id.lastIndexOf("/")
    const frame = this.#frames.get(slash < 0 ? "" : id.slice(0, slash))
    const inner = id.slice(slash + 1)
    const request = frame?.machine.request(inner)
    if (frame !== undefined && request !== undefined) return { frame, request }
    if (frame?.machine.wasAnswered(inner) || this.#answered?.has(id)) {
      const text = `Request "${id}" was answered before; an answer cannot be changed.`
      throw new SuperstepError("REQUEST_ANSWERED", text)
    }
    const open = this.list().map((one) => `"${one.id}"`)
    const text = `Run ${this.#runId} has no open request "${id}". Open: ${open.join(", ") || "none"}.`
    throw new SuperstepError("REQUEST_UNKNOWN", text)
  }
}
