/**
 * The workflows that a runtime executes: those of its options, and those of a source, which may change while it runs.
 *
 * Invariants:
 * W1 The workflows of the options stay: a source does not replace them.
 * W2 A run that records a version continues with that version, or with the one that the source chooses instead. Other runs
 *    continue with the current version of their workflow.
 */
import { graphData, SuperstepError } from "../core/index.ts"
import { type Callable, type Program, type StoredRun, VERSION_LABEL } from "../runtime/index.ts"

/** Workflows with versions that may change while a runtime uses them, such as definitions in a store. */
export interface WorkflowSource {
  /** Those that were added or changed since the last call, in their current version. Called with every sweep, once a second. */
  changed(): readonly Callable[] | Promise<readonly Callable[]>
  /**
   * A version of a workflow, as its `program.version` names it. With a run, the version that this run continues with, which may
   * be a later one.
   */
  version(
    workflow: string,
    version: string,
    run?: StoredRun,
  ): Callable | undefined | Promise<Callable | undefined>
}

export class Programs {
  readonly #fixed: Set<string>
  readonly #current: Map<string, Callable>
  /** Versions that the source has returned: they may be started. */
  readonly #versions = new WeakSet<Program>()
  #source: WorkflowSource | undefined
  #refreshing: Promise<void> | undefined

  constructor(workflows: readonly Callable[]) {
    this.#current = new Map(workflows.map((one) => [one.name, one]))
    this.#fixed = new Set(this.#current.keys())
  }

  get size(): number {
    return this.#current.size
  }

  names(): string[] {
    return [...this.#current.keys()]
  }

  *entries(): Generator<readonly [string, Program]> {
    for (const [name, { program }] of this.#current) yield [name, program]
  }

  /** The graphs of the workflows that stay (W1), each once. */
  graphs(): string[] {
    const fixed = [...this.#fixed].sort().flatMap((name) => this.get(name) ?? [])
    return [...new Set(fixed.map(({ graph }) => graphData(graph).hash))]
  }

  has(name: string): boolean {
    return this.#current.has(name)
  }

  workflow(name: string): Callable | undefined {
    return this.#current.get(name)
  }

  get(name: string): Program | undefined {
    return this.#current.get(name)?.program
  }

  /** Whether it is the current version of its name, or another one that the source has returned. */
  isKnown({ name, program }: Pick<Callable, "name" | "program">): boolean {
    return this.get(name) === program || this.#versions.has(program)
  }

  /** Adds a workflow that stays (W1). */
  add(workflow: Callable): void {
    this.#current.set(workflow.name, workflow)
    this.#fixed.add(workflow.name)
  }

  /** Replaces the source. */
  use(source: WorkflowSource): void {
    this.#source = source
  }

  /** Asks the source for changes; concurrent calls share one question. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #refresh(): Promise<void> {
    for (const workflow of (await this.#source?.changed()) ?? []) {
      this.#versions.add(workflow.program)
      if (!this.#fixed.has(workflow.name)) this.#current.set(workflow.name, workflow)
    }
  }

  async version(name: string, version: string, run?: StoredRun): Promise<Callable | undefined> {
    const found = await this.#source?.version(name, version, run)
    if (found !== undefined) this.#versions.add(found.program)
    return found
  }

  /** What a stored run continues with (W2). Undefined if this process does not have the workflow. */
  async of(run: StoredRun): Promise<Program | undefined> {
    const { workflow, labels } = run
    const version = labels?.[VERSION_LABEL]
    if (version === undefined || this.#source === undefined) return this.get(workflow)
    const found = await this.version(workflow, version, run)
    if (found !== undefined) return found.program
    const text = `Run "${run.runId}" needs version ${version} of workflow "${workflow}", which this process does not find.`
    throw new SuperstepError("VERSION_UNKNOWN", text, { run: run.runId })
  }
}
