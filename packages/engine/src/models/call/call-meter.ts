/**
 * What a model call has used so far: by the attempts that came to nothing, each with its model, and by the request that is
 * under way. Every request counts from the moment it is sent.
 */
import { addUsage, type Usage } from "../../core/index.ts"

/** What a model used. */
export interface ModelUsage {
  readonly model: string
  readonly usage: Usage
}

/** A request that was sent. */
interface Request {
  readonly model: string
  /** What it has used by now, by estimate where the provider did not say. */
  sofar(): Usage
}

export class CallMeter {
  readonly #dropped = new Map<string, Usage>()
  #current: Request | undefined

  begin(request: Request): void {
    this.#current = request
  }

  /** The request brought the reply, which has its usage. */
  end(): void {
    this.#current = undefined
  }

  /** The request came to nothing. Undefined: it was never sent. */
  drop(usage: Usage | undefined): void {
    const model = this.#current?.model
    this.#current = undefined
    if (model === undefined || usage === undefined) return
    this.#dropped.set(model, addUsage(this.#dropped.get(model) ?? {}, usage))
  }

  /** Of the attempts that came to nothing, by model. */
  get dropped(): readonly ModelUsage[] {
    return [...this.#dropped].map(([model, usage]) => ({ model, usage }))
  }

  /** Of all of them, and of the request under way. */
  get spent(): readonly ModelUsage[] {
    const current = this.#current
    if (current === undefined) return this.dropped
    return [...this.dropped, { model: current.model, usage: current.sofar() }]
  }
}
