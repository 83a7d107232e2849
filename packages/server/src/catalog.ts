/** The workflows that the API offers: those of the options, and the published definitions of the store. */
import { type Runtime, type StoredRun, VERSION_LABEL } from "@superstep/engine"
import { inheritedLabels, type Principal } from "./access.ts"
import type { StoredDefinitions } from "./definitions/stored-definitions.ts"

/** A workflow as `runtime.start` takes it. */
export type StartedWorkflow = Parameters<Runtime["start"]>[0]

export class Catalog {
  readonly #runtime: Runtime
  readonly #own: ReadonlyMap<string, StartedWorkflow>
  readonly #definitions: StoredDefinitions

  constructor(runtime: Runtime, own: readonly StartedWorkflow[], definitions: StoredDefinitions) {
    this.#runtime = runtime
    this.#own = new Map(own.map((one) => [one.name, one]))
    this.#definitions = definitions
  }

  /** Of the options: a definition of the store does not replace it. */
  own(name: string): StartedWorkflow | undefined {
    return this.#own.get(name)
  }

  ownNames(): readonly string[] {
    return [...this.#own.keys()]
  }

  /** Those of the options in their order, then those of the store by name. */
  async list(): Promise<readonly StartedWorkflow[]> {
    const found = new Map(this.#own)
    for (const [name, { published }] of await this.#definitions.heads()) {
      if (published === undefined || found.has(name)) continue
      const workflow = await this.#version(name, published)
      if (workflow !== undefined) found.set(name, workflow)
    }
    return [...found.values()]
  }

  /**
   * Undefined if there is none. `version` is a number, an alias, `published` or `latest`; throws VERSION_UNKNOWN. Reads the
   * store, so a version that another server has just published counts at once.
   */
  async find(name: string, version?: string): Promise<StartedWorkflow | undefined> {
    const own = this.#own.get(name)
    if (own !== undefined && version === undefined) return own
    const head = await this.#definitions.head(name)
    if (version === undefined && head?.published === undefined) return undefined
    return await this.#version(name, this.#definitions.numberOf(name, head, version ?? "published"))
  }

  /** The workflow of a run, in the version that the run records. */
  async of({ workflow, labels }: StoredRun): Promise<StartedWorkflow | undefined> {
    const found = this.#own.get(workflow) ?? (await this.#runtime.workflow(workflow, labels?.[VERSION_LABEL]))
    return found as StartedWorkflow | undefined
  }

  /**
   * The labels of a run that the principal makes of another one. It has the version of that one, or the published one if that
   * is later and has the same graph: a retry uses what was fixed.
   */
  async copyLabels(principal: Principal, run: StoredRun): Promise<Readonly<Record<string, string>>> {
    const labels = inheritedLabels(principal, run)
    const version = labels[VERSION_LABEL]
    if (version === undefined) return labels
    const { published = 0 } = (await this.#definitions.head(run.workflow)) ?? {}
    if (published <= Number(version)) return labels
    const loaded = await this.#definitions.load(run.workflow, published)
    return loaded?.graph === run.graph ? { ...labels, [VERSION_LABEL]: String(published) } : labels
  }

  async #version(name: string, version: number): Promise<StartedWorkflow | undefined> {
    // Its runs are claimed by the name, which the runtime has to know.
    if ((await this.#runtime.workflow(name)) === undefined) await this.#runtime.refresh()
    return (await this.#runtime.workflow(name, String(version))) as StartedWorkflow | undefined
  }
}
