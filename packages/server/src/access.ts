/**
 * Who may do what. Every route names the role that it needs. A principal with a tenant sees only what carries that tenant:
 * its runs have the tenant as a label, and its threads and keys have it as a prefix. Whatever belongs to somebody else does
 * not exist for it: the answer is 404, as for an id that nobody has.
 */
import { type StoredRun, SuperstepError } from "@superstep/engine"
import type { Context, MiddlewareHandler } from "hono"
import { problem } from "./problem.ts"
import type { Services } from "./services.ts"

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
}

export interface Env {
  Variables: { principal: Principal }
}

/** Without authentication, every client that reaches the server acts as its owner. */
export const OWNER: Principal = { id: "owner", role: "admin" }

const TENANT_LABEL = "superstep.tenant"

/** For the configuration of a route: only principals with this role, or a higher one, reach its handler. */
export function needs(role: Role) {
  const middleware: MiddlewareHandler<Env> = async (c, next) => {
    const principal = c.get("principal")
    if (ROLES.indexOf(principal.role) >= ROLES.indexOf(role)) return await next()
    return problem(
      403,
      "NOT_ALLOWED",
      `This needs the role ${role}; this key has the role ${principal.role}.`,
    )
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

/** The run, if it exists and the principal may see it; else throws RUN_UNKNOWN. */
export async function visibleRun(c: Context<Env>, { runtime }: Services, runId: string): Promise<StoredRun> {
  const principal = principalOf(c)
  const row = await runtime.store.run(runId)
  if (row !== undefined && isVisible(principal, row)) return row
  throw new SuperstepError("RUN_UNKNOWN", `There is no run "${runId}".`, { run: runId })
}

export function isVisible(principal: Principal, { workflow, labels }: StoredRun): boolean {
  const { tenant } = principal
  return maySee(principal, workflow) && (tenant === undefined || labels?.[TENANT_LABEL] === tenant)
}

/** The labels of a new run, or of a query, with the tenant of the principal. */
export function tenantLabels(
  { tenant }: Principal,
  labels: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  if (labels?.[TENANT_LABEL] !== undefined) {
    throw new SuperstepError("OPTION_INVALID", `The label ${TENANT_LABEL} is set by the server.`)
  }
  return tenant === undefined ? labels : { ...labels, [TENANT_LABEL]: tenant }
}

/** Labels as their owner wrote them. */
export function ownLabels(labels: StoredRun["labels"]): Readonly<Record<string, string>> | undefined {
  if (labels === undefined) return undefined
  const { [TENANT_LABEL]: _, ...own } = labels
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
