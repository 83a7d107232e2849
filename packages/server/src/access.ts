/**
 * Who may do what. Every route names the role that it needs. A principal with a tenant sees only what carries that tenant:
 * its runs have the tenant as a label, and its threads and keys have it as a prefix. Whatever belongs to somebody else does
 * not exist for it: the answer is 404, as for an id that nobody has.
 */
import { type Runtime, type StoredRun, SuperstepError, VERSION_LABEL } from "@superstep/engine"
import type { Context, MiddlewareHandler } from "hono"
import { problem } from "./problem.ts"

/** Each role includes those before it. */
export const ROLES = ["viewer", "operator", "author", "admin"] as const
export type Role = (typeof ROLES)[number]

/** Who sends a request. */
export interface Principal {
  /** For the audit log, and as the person who answered. */
  readonly id: string
  readonly role: Role
  /** Absent: it sees everything. */
  readonly tenant?: string | undefined
  /** The workflows it may see and start; absent: all. */
  readonly workflows?: readonly string[] | undefined
  /** The API key that it uses, and what limits that. */
  readonly key?: PrincipalKey | undefined
}

export interface PrincipalKey {
  readonly id: string
  /** It starts no runs. */
  readonly isPaused?: boolean | undefined
  readonly budget?:
    | {
        readonly usd?: number | undefined
        readonly tokens?: number | undefined
        readonly per: "day" | "total"
      }
    | undefined
  readonly rateLimit?: { readonly requests: number; readonly seconds: number } | undefined
  readonly quota?:
    | { readonly runsPerDay?: number | undefined; readonly concurrentRuns?: number | undefined }
    | undefined
}

/** What is asked of a principal beyond its role. */
export interface Access {
  readonly method: string
  /** For example `/v1/runs/:run/cancel`. */
  readonly route: string
  readonly params: Readonly<Record<string, string>>
}

/** A check of your own, after that of the role: false refuses the request. */
export type Authorize = (principal: Principal, access: Access) => boolean | Promise<boolean>

export interface Env {
  Variables: {
    principal: Principal
    /** Checks that need the server's options, for `needs`; returns a refusal. */
    check: (c: Context<Env>, starts: boolean) => Promise<Response | undefined> | undefined
    /** What the audit log says besides: a reason. */
    note: string | undefined
  }
}

/** Who sends a request that brings its own proof, such as a signature. It may see nothing. */
export const NOBODY: Principal = { id: "anonymous", role: "viewer", tenant: "", workflows: [] }

/** For the configuration of a route that needs no key, because each request brings its own proof. */
export const PUBLIC = { "x-role": "none" }

/** Without authentication, every client that reaches the server acts as its owner. */
export const OWNER: Principal = { id: "owner", role: "admin" }

export const TENANT_LABEL = "superstep.tenant"
/** The id of the API key that started a run. */
export const KEY_LABEL = "superstep.key"
/** The chat that a run belongs to, for clients that send a whole conversation each time. */
export const CHAT_LABEL = "superstep.chat"

/**
 * For the configuration of a route: only principals with this role, or a higher one, reach its handler. A route that
 * `starts` runs is refused to a key whose budget is used up.
 */
export function needs(role: Role, { starts = false }: { readonly starts?: boolean } = {}) {
  const middleware: MiddlewareHandler<Env> = async (c, next) => {
    const principal = c.get("principal")
    if (ROLES.indexOf(principal.role) < ROLES.indexOf(role)) {
      const text = `This needs the role ${role}; this key has the role ${principal.role}.`
      return problem(403, "NOT_ALLOWED", text)
    }
    return (await c.get("check")(c, starts)) ?? (await next())
  }
  return { middleware, "x-role": role }
}

export function principalOf(c: Context<Env>): Principal {
  return c.get("principal")
}

/** Whether the principal may see what belongs to this workflow. */
export function maySee({ workflows }: Principal, workflow: string): boolean {
  return workflows === undefined || workflows.includes(workflow)
}

/** Whether the principal may see, create and change something that is allowed this much, such as a key or a webhook. */
export function isManaged(principal: Principal, scope: Pick<Principal, "tenant" | "workflows">): boolean {
  if (principal.tenant !== undefined && scope.tenant !== principal.tenant) return false
  if (principal.workflows === undefined) return true
  return scope.workflows?.every((one) => maySee(principal, one)) ?? false
}

/** The run, if it exists and the principal may see it; else throws RUN_UNKNOWN. */
export async function visibleRun(
  c: Context<Env>,
  { runtime }: { readonly runtime: Runtime },
  runId: string,
): Promise<StoredRun> {
  const principal = principalOf(c)
  const row = await runtime.store.run(runId)
  if (row !== undefined && isVisible(principal, row)) return row
  throw new SuperstepError("RUN_UNKNOWN", `There is no run "${runId}".`, { run: runId })
}

export function isVisible(principal: Principal, { workflow, labels }: StoredRun): boolean {
  const { tenant } = principal
  return maySee(principal, workflow) && (tenant === undefined || labels?.[TENANT_LABEL] === tenant)
}

/**
 * Throws OPTION_INVALID unless the run that a page begins after is one of the list. Without its place the list would end here,
 * as if there were no more; and one of another tenant must not differ from none.
 */
export async function checkCursor(
  { store }: Runtime,
  runId: string,
  isListed: (run: StoredRun) => boolean,
): Promise<void> {
  const run = await store.run(runId)
  if (run !== undefined && isListed(run)) return
  const text = `cursor: there is no run "${runId}" any more. Start again at the first page.`
  throw new SuperstepError("OPTION_INVALID", text)
}

type Labels = Readonly<Record<string, string>>

/** Names of labels that begin so are the server's. */
const RESERVED = "superstep."

/** The labels of a new run, with the tenant and the key of the principal. */
export function tenantLabels(
  principal: Principal,
  labels: Labels | undefined,
  chat?: string,
): Labels | undefined {
  const { key } = principal
  const reserved = Object.keys(labels ?? {}).find((name) => name.startsWith(RESERVED))
  if (reserved !== undefined) throw labelReserved(reserved)
  const own = queryLabels(principal, labels)
  if (key === undefined && chat === undefined) return own
  return {
    ...own,
    ...(key !== undefined && { [KEY_LABEL]: key.id }),
    ...(chat !== undefined && { [CHAT_LABEL]: tenantName(principal, chat) }),
  }
}

/** The labels of a run that the principal makes of another one: those of that run, with the key of the principal. */
export function inheritedLabels({ key }: Principal, { labels }: StoredRun): Labels {
  const { [KEY_LABEL]: _, ...inherited } = labels ?? {}
  return key === undefined ? inherited : { ...inherited, [KEY_LABEL]: key.id }
}

/** The labels of a query for runs, with the tenant of the principal. */
export function queryLabels({ tenant }: Principal, labels: Labels | undefined): Labels | undefined {
  if (labels?.[TENANT_LABEL] !== undefined) throw labelReserved(TENANT_LABEL)
  return tenant === undefined ? labels : { ...labels, [TENANT_LABEL]: tenant }
}

function labelReserved(name: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `The label ${name} is set by the server.`)
}

/** Labels as their owner wrote them. */
export function ownLabels(labels: StoredRun["labels"]): Labels | undefined {
  if (labels === undefined) return undefined
  const { [TENANT_LABEL]: _, [KEY_LABEL]: __, [VERSION_LABEL]: ___, [CHAT_LABEL]: ____, ...own } = labels
  return Object.keys(own).length === 0 ? undefined : own
}

/** A key or a thread that cannot meet one of another tenant. */
export function tenantName({ tenant }: Principal, name: string): string
export function tenantName({ tenant }: Principal, name: string | undefined): string | undefined
export function tenantName({ tenant }: Principal, name: string | undefined): string | undefined {
  return tenant === undefined || name === undefined ? name : `${prefixOf(tenant)}${name}`
}

/** The name as its owner wrote it. */
export function ownName({ tenant }: Principal, name: string | undefined): string | undefined {
  const prefix = tenant === undefined ? "" : prefixOf(tenant)
  return name?.startsWith(prefix) ? name.slice(prefix.length) : name
}

/** No tenant's prefix is the beginning of another's. */
function prefixOf(tenant: string): string {
  return `tenant:${encodeURIComponent(tenant)}:`
}
