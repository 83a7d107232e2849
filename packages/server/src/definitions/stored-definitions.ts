/**
 * Definitions that were sent to the server, in the records of the store, for all its servers. Each has a head, which is
 * written by compare and swap, and numbered versions, which never change. A runtime uses them as a source of workflows.
 *
 * Invariants:
 * V1 A version is written before a head names it, and is never changed or removed while its definition exists.
 * V2 Every change of a head raises the revision that all processes poll. A process that misses one (the writer died in
 *    between) reads all heads again after a while.
 * V3 The text is loaded as one of an author who is not trusted, each time a process loads it: capabilities that are no longer
 *    allowed are refused, also in versions that were published before.
 */
import {
  type Json,
  type Runtime,
  type RuntimeOptions,
  type Store,
  type StoredRecord,
  type StoredRun,
  SuperstepError,
  type WorkflowSource,
} from "@superstep/engine"
import { graphData } from "@superstep/engine/core"
import type { Definition, Diagnostic, Loaded, TrustCapability } from "@superstep/engine/definitions"
import { z } from "zod"
import { type SubmittedOptions, submittedOptions } from "../submitted.ts"

const HEAD = "definition"
const VERSION = "definition-version"
const REVISION = "definition-revision"
const PAGE = 500
/** Polls until all heads are read again (V2). */
const POLLS = 30
const MAX_LOG = 100

type Callable = RuntimeOptions["workflows"][number]

const logSchema = z.object({
  at: z.number(),
  by: z.string(),
  action: z.enum(["publish", "rollback", "alias", "alias removed"]),
  version: z.number().int(),
  alias: z.string().optional(),
  /** Why it was published although the replay check found differences. */
  reason: z.string().optional(),
})

const headSchema = z.object({
  latest: z.number().int(),
  published: z.number().int().optional(),
  aliases: z.record(z.string(), z.number().int()),
  /** Runs in flight of other versions continue with the published one where its graph is the same. */
  follow: z.boolean(),
  /** The newest last. */
  log: z.array(logSchema),
})

const versionSchema = z.object({
  text: z.string(),
  createdAt: z.number(),
  createdBy: z.string(),
  note: z.string().optional(),
})

export type Head = z.infer<typeof headSchema>
export type LogEntry = z.infer<typeof logSchema>
export type Version = z.infer<typeof versionSchema> & { readonly version: number }

const NEW: Head = { latest: 0, aliases: {}, follow: false, log: [] }

/** A version that can be executed. */
export interface LoadedVersion {
  readonly workflow: Callable
  /** The hash of its graph, as rows of runs have it. */
  readonly graph: string
  readonly definition: Definition
}

export class StoredDefinitions implements WorkflowSource {
  readonly #store: Pick<Store, "records">
  readonly #submitted: SubmittedOptions
  readonly #report: (error: unknown) => void
  readonly #loaded = new Map<string, Promise<LoadedVersion | undefined>>()
  /** The version of each definition that `changed` returned last. */
  readonly #returned = new Map<string, number>()
  #revision: number | undefined
  #polls = 0

  constructor(store: Pick<Store, "records">, submitted: SubmittedOptions, report: (error: unknown) => void) {
    this.#store = store
    this.#submitted = submitted
    this.#report = report
  }

  // Reading

  async head(name: string): Promise<Head | undefined> {
    const record = await this.#store.records.get(HEAD, name)
    return record && headSchema.parse(record.value)
  }

  /** By name. */
  async heads(): Promise<readonly (readonly [string, Head])[]> {
    const found: (readonly [string, Head])[] = []
    for (let after: string | undefined; ; ) {
      const page = await this.#store.records.list(HEAD, { after, limit: PAGE })
      found.push(...page.map(({ id, value }) => [id, headSchema.parse(value)] as const))
      after = page.at(-1)?.id
      if (page.length < PAGE) return found
    }
  }

  async version(name: string, version: string, run?: StoredRun): Promise<Callable | undefined> {
    const own = await this.load(name, Number(version))
    if (run === undefined) return own?.workflow
    const head = await this.head(name)
    if (head?.follow !== true || head.published === undefined) return own?.workflow
    const published = await this.load(name, head.published)
    // Another graph would refuse the run: it stays with its version.
    return published?.graph === run.graph ? published.workflow : own?.workflow
  }

  async text(name: string, version: number): Promise<Version | undefined> {
    const record = await this.#store.records.get(VERSION, idOf(name, version))
    return record && toVersion(record)
  }

  /** The newest last, from after that one on. */
  async versions(name: string, after = 0, limit = PAGE): Promise<readonly Version[]> {
    const page = await this.#store.records.list(VERSION, {
      prefix: prefixOf(name),
      after: idOf(name, after),
      limit,
    })
    return page.map(toVersion)
  }

  /** The number that a version, an alias, `published` or `latest` names. Throws VERSION_UNKNOWN. */
  numberOf(name: string, head: Head | undefined, version: string): number {
    const found =
      version === "latest"
        ? head?.latest
        : version === "published"
          ? head?.published
          : /^[1-9]\d{0,8}$/.test(version)
            ? Number(version)
            : Object.hasOwn(head?.aliases ?? {}, version)
              ? head?.aliases[version]
              : undefined
    if (found !== undefined && head !== undefined && found <= head.latest) return found
    throw versionUnknown(name, version)
  }

  // Loading

  /** Undefined if there is no such version, or it is refused (V3). */
  load(name: string, version: number): Promise<LoadedVersion | undefined> {
    const id = idOf(name, version)
    const known = this.#loaded.get(id)
    if (known !== undefined) return known
    const loading = this.#load(name, version)
    this.#loaded.set(id, loading)
    const forget = () => this.#loaded.delete(id)
    // What failed may be there the next time.
    loading.then((found) => found ?? forget(), forget)
    return loading
  }

  async #load(name: string, version: number): Promise<LoadedVersion | undefined> {
    const stored = Number.isInteger(version) ? await this.text(name, version) : undefined
    if (stored === undefined) return undefined
    const { definition, diagnostics } = await this.check(name, stored.text)
    if (definition !== undefined) return loadedVersion(definition, String(version))
    const first = diagnostics.find(({ severity }) => severity === "error")?.message ?? "it is not valid"
    this.#report(
      new SuperstepError(
        "DEFINITION_INVALID",
        `Version ${version} of definition "${name}" cannot be loaded: ${first}`,
      ),
    )
    return undefined
  }

  /** Loads text that is not stored. A definition that calls its workflow by another name is refused. */
  async check(name: string | undefined, text: string): Promise<Loaded> {
    // Most servers get no definitions: the dialects are loaded with the first one.
    const { loadDefinition } = await import("@superstep/engine/definitions")
    const loaded = loadDefinition({ file: name ?? "definition", text }, this.#submitted)
    const { definition } = loaded
    if (definition === undefined || name === undefined || definition.workflow.name === name) return loaded
    const { definition: _, ...rest } = loaded
    return { ...rest, diagnostics: [...loaded.diagnostics, misnamed(definition.workflow.name, name)] }
  }

  // Changing

  /** A new version. The text of the latest one is not stored twice. */
  async add(name: string, draft: Omit<Version, "version">): Promise<{ version: Version; isNew: boolean }> {
    const { latest } = (await this.head(name)) ?? NEW
    const last = latest === 0 ? undefined : await this.text(name, latest)
    if (last?.text === draft.text) return { version: last, isNew: false }
    let version = latest + 1
    // V1. A number that is taken is of somebody who writes at the same time, or died before the head named it.
    while (!(await this.#store.records.put(VERSION, idOf(name, version), toJson(draft), null))) version++
    await this.change(name, (head) => ({ ...head, latest: Math.max(head.latest, version) }))
    return { version: { version, ...draft }, isNew: true }
  }

  /** Creates or changes a head (V2). */
  async change(name: string, to: (head: Head) => Head): Promise<Head> {
    for (;;) {
      const record = await this.#store.records.get(HEAD, name)
      const head = to(record === undefined ? NEW : headSchema.parse(record.value))
      if (!(await this.#store.records.put(HEAD, name, toJson(head), record?.version ?? null))) continue
      await this.#raiseRevision()
      return head
    }
  }

  async #raiseRevision(): Promise<void> {
    const { records } = this.#store
    for (;;) {
      const revision = await records.get(REVISION, "all")
      if (await records.put(REVISION, "all", {}, revision?.version ?? null)) return
    }
  }

  // For the runtime

  /** One small read, unless something has changed. */
  async changed(): Promise<readonly Callable[]> {
    const revision = (await this.#store.records.get(REVISION, "all"))?.version ?? 0
    if (revision === this.#revision && this.#polls++ < POLLS) return []
    const found: Callable[] = []
    for (const [name, head] of await this.heads()) {
      const version = currentOf(head)
      if (this.#returned.get(name) === version) continue
      const loaded = await this.load(name, version)
      if (loaded !== undefined) found.push(loaded.workflow)
      this.#returned.set(name, version)
    }
    this.#revision = revision
    this.#polls = 0
    return found
  }
}

/** What a runtime has under the name. Drafts too: it claims their runs. */
function currentOf({ published, aliases, latest }: Head): number {
  return published ?? Object.values(aliases)[0] ?? latest
}

export function loadedVersion(definition: Definition, version: string | undefined): LoadedVersion {
  const { name, program } = definition.workflow
  const workflow = { name, program: { ...program, ...(version !== undefined && { version }) } } as Callable
  return { workflow, graph: graphData(program.graph).hash, definition }
}

export function logged(head: Head, entry: LogEntry): Head {
  return { ...head, log: [...head.log, entry].slice(-MAX_LOG) }
}

export function versionUnknown(name: string, version: string): SuperstepError {
  return new SuperstepError("VERSION_UNKNOWN", `Definition "${name}" has no version "${version}".`)
}

function misnamed(found: string, name: string): Diagnostic {
  const message = `This text defines "${found}", not "${name}": set its name, or send it as "${found}".`
  return { severity: "error", code: "NAME_DIFFERS", message }
}

/** A server that is created again, for the same runtime and with the same rights, uses what is loaded. */
const instances = new WeakMap<Runtime, { readonly definitions: StoredDefinitions; readonly rights: string }>()

export function definitionsOf(
  runtime: Runtime,
  submitted: SubmittedOptions,
  report: (error: unknown) => void,
): StoredDefinitions {
  const rights = JSON.stringify(submitted.allow)
  const known = instances.get(runtime)
  if (known?.rights === rights) return known.definitions
  const definitions = new StoredDefinitions(runtime.store, submitted, report)
  instances.set(runtime, { definitions, rights })
  runtime.useSource(definitions)
  return definitions
}

/**
 * Executes the definitions that servers of the store have published, in a program that serves nothing itself, such as a
 * worker. Texts are loaded as those of authors who are not trusted; `allow` as for `createServer`.
 */
export function useDefinitions(
  runtime: Runtime,
  {
    allow,
    onProblem,
  }: {
    readonly allow?: readonly TrustCapability[] | undefined
    readonly onProblem?: ((error: unknown) => void) | undefined
  } = {},
): void {
  const report = onProblem ?? ((error) => process.emitWarning(error instanceof Error ? error : String(error)))
  definitionsOf(runtime, submittedOptions(allow), report)
}

function prefixOf(name: string): string {
  return `${name}/`
}

function idOf(name: string, version: number): string {
  return `${prefixOf(name)}${String(version).padStart(9, "0")}`
}

function toVersion({ id, value }: StoredRecord): Version {
  return { version: Number(id.slice(id.lastIndexOf("/") + 1)), ...versionSchema.parse(value) }
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}
