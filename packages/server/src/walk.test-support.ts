/**
 * Walks every route of the API as everybody who must not get through: without a key, with keys that are no longer valid, with
 * each role that is too low, and with every role of another tenant. What it returns are the routes that let something
 * through; there must be none. It learns routes, roles, parameters and bodies from /openapi.json, so a new route is walked
 * without being named here. A new kind of parameter needs an id in `IDS`.
 */
import type { Store } from "@superstep/engine"
import { type Principal, ROLES, type Role } from "./access.ts"
import { createKey, revokeKey } from "./auth/api-keys.ts"
import type { Server } from "./server.ts"

/** Something of one tenant, by the name of the parameter that it is an id for. */
export type Ids = Readonly<Record<string, string>>

export interface Walked {
  readonly server: Server
  readonly store: Store
  /** Of the tenant "a". */
  readonly ids: Ids
  /** Occurs in everything that belongs to the tenant "a". */
  readonly canary: string
}

interface Route {
  readonly method: string
  readonly path: string
  /** Undefined: requests need no key, because each brings its own proof. */
  readonly role: Role | undefined
  readonly parameters: readonly Parameter[]
  readonly body: unknown
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema?: Schema
}

interface Answer {
  /** The address and the body of the request. */
  readonly sent: string
  readonly status: number
  readonly text: string
}

/** What is wrong, a sentence each; with `only`, with the routes under that path. */
export async function walk(walked: Walked, only = "/"): Promise<readonly string[]> {
  const problems: string[] = []
  const before = await stateOf(walked)
  const keys = await keysOf(walked.store)
  const { routes, without } = await routesOf(walked.server, keys.roles.admin)
  problems.push(...without.map((route) => `${route} names no role`))
  for (const route of routes.filter(({ path }) => path.startsWith(only))) {
    if (route.role === undefined) {
      const found = await walkForeign(walked, route, { viewer: undefined })
      problems.push(...found.map((problem) => `${route.method} ${route.path}: ${problem}`.slice(0, 500)))
      continue
    }
    for (const problem of [
      ...(await walkUnknown(walked, route, keys.invalid)),
      ...(await walkRoles(walked, route, keys.roles)),
      ...(await walkForeign(walked, route, keys.foreign)),
    ]) {
      problems.push(`${route.method} ${route.path}: ${problem}`.slice(0, 500))
    }
  }
  if ((await stateOf(walked)) !== before) problems.push("something of the other tenant was changed")
  return problems
}

/** Nobody that is known: 401, and the same text for every reason. */
async function walkUnknown(
  { server, ids }: Walked,
  route: Route,
  invalid: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  const problems: string[] = []
  const texts = new Set<string>()
  for (const [name, key] of Object.entries(invalid)) {
    const { status, text } = await send(server, route, ids, key)
    if (status !== 401) problems.push(`${name} gets ${status}`)
    texts.add(text)
  }
  if (texts.size > 1) problems.push("the refusal depends on why the key is not valid")
  return problems
}

/** Of no tenant, but with a role that is too low: 403. */
async function walkRoles(
  { server, ids }: Walked,
  route: Route,
  keys: Readonly<Record<Role, string>>,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const role of ROLES.slice(0, ROLES.indexOf(route.role as Role))) {
    const { status } = await send(server, route, ids, keys[role])
    if (status !== 403) problems.push(`the role ${role} gets ${status}`)
  }
  return problems
}

/** With another tenant's ids: the same answer as with ids that nobody has. */
async function walkForeign(
  { server, ids, canary }: Walked,
  route: Route,
  keys: Readonly<Partial<Record<Role, string | undefined>>>,
): Promise<readonly string[]> {
  const problems: string[] = []
  const roles = route.role === undefined ? (["viewer"] as const) : ROLES.slice(ROLES.indexOf(route.role))
  for (const role of roles) {
    const missing = missingIds(ids, role)
    const theirs = await send(server, route, ids, keys[role])
    const none = await send(server, route, missing, keys[role])
    if (none.status === 422) problems.push(`it refuses the walk's request: ${none.text}`)
    if (none.status >= 500) problems.push(`it fails: ${none.text}`)
    const same = normal(theirs, ids) === normal(none, missing)
    if (!same) problems.push(`${role} of another tenant: ${theirs.text} is not ${none.text}`)
    const quoted = Object.values(ids).reduce((text, id) => text.replaceAll(id, ""), theirs.text)
    if (quoted.includes(canary)) problems.push(`${role} of another tenant reads ${theirs.text}`)
    // Short ids, such as that of a question in its run, are not unique.
    const leaked = Object.entries(ids).filter(
      ([, id]) => id.length > 8 && theirs.text.includes(id) && !theirs.sent.includes(id),
    )
    for (const [name] of leaked) problems.push(`${role} of another tenant reads the id of a ${name}`)
  }
  return problems
}

interface Keys {
  readonly invalid: Readonly<Record<string, string | undefined>>
  readonly roles: Readonly<Record<Role, string>>
  readonly foreign: Readonly<Record<Role, string>>
}

async function keysOf(store: Store): Promise<Keys> {
  const create = async (role: Role, more: Partial<Principal> & { expiresAt?: number } = {}) =>
    await createKey(store, { name: "walk", role, ...(more as object) }, "walk")
  const perRole = async (tenant?: string) =>
    Object.fromEntries(
      await Promise.all(
        ROLES.map(async (role) => [role, (await create(role, tenant ? { tenant } : {})).secret] as const),
      ),
    ) as Record<Role, string>
  const expired = await create("admin", { expiresAt: 1 })
  const revoked = await create("admin")
  await revokeKey(store, revoked.id)
  const { secret } = await create("admin")
  return {
    invalid: {
      "a request without a key": undefined,
      "an expired key": expired.secret,
      "a revoked key": revoked.secret,
      "a wrong secret": `${secret.slice(0, -4)}AAAA`,
      "an unknown key": `ss_${"0".repeat(16)}_${"A".repeat(43)}`,
      "a word": "admin",
    },
    roles: await perRole(),
    foreign: await perRole("b"),
  }
}

async function send(server: Server, route: Route, ids: Ids, key: string | undefined): Promise<Answer> {
  const { method, path, parameters, body } = route
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(idOf(ids, name)))
  const query = parameters
    .filter((one) => one.in === "query" && (ids[one.name] !== undefined || one.required))
    .map(({ name, schema }) => `${name}=${encodeURIComponent(ids[name] ?? `${sampleOf(schema ?? {})}`)}`)
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) }
  const text = body === undefined ? undefined : JSON.stringify(withIds(body, ids))
  const url = `http://local${filled}${query.length > 0 ? `?${query.join("&")}` : ""}`
  const sent = `${url} ${text}`
  // Streams of a run that waits never end by themselves.
  const signal = AbortSignal.timeout(60_000)
  const response = await server.fetch(
    new Request(url, { method, headers, signal, ...(text !== undefined && { body: text }) }),
  )
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    await response.body?.cancel()
    return { sent, status: response.status, text: "a stream" }
  }
  return { sent, status: response.status, text: await response.text() }
}

function idOf(ids: Ids, name: string): string {
  const id = ids[name]
  if (id === undefined) throw new Error(`The walk has no id for the parameter "${name}": add one to IDS.`)
  return id
}

function missingIds(ids: Ids, role: Role): Ids {
  return Object.fromEntries(
    Object.entries(ids).map(([name, id]) => [
      name,
      ["workflow", "definition", "model", "dialect"].includes(name) ? id : `none-${role}-${id}`,
    ]),
  )
}

/** Fields of a body that are ids of something. */
function withIds(body: unknown, ids: Ids): unknown {
  if (Array.isArray(body)) return body.map((one) => withIds(one, ids))
  if (typeof body !== "object" || body === null) return body
  const named = { ...ids, runId: ids.run as string }
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      name === "runs" && Array.isArray(value) && typeof value[0] === "string"
        ? [ids.run]
        : typeof value === "string" && Object.hasOwn(named, name)
          ? named[name as keyof typeof named]
          : withIds(value, ids),
    ]),
  )
}

/** Without what differs between two requests anyway. */
function normal({ status, text }: Answer, ids: Ids): string {
  let shown = text
  for (const id of Object.values(ids).sort((one, other) => other.length - one.length)) {
    for (const form of [id, encodeURIComponent(id), encodeURIComponent(encodeURIComponent(id))])
      shown = shown.replaceAll(form, "<id>")
  }
  const generated =
    /ss_[\w-]+|"(?:id|call_id|next|prefix|secret|url)":"[^"]*"|"created(?:_at)?":\d+|"behind":\d+|\b\d{13}\b/g
  return `${status} ${shown.replace(generated, "<generated>")}`
}

/** Everything of the tenant "a" that the store has. */
async function stateOf({ store, canary }: Walked): Promise<string> {
  const runs = await store.runs({ labels: { "superstep.tenant": "a" } })
  const requests = await store.requests({ outcome: ["open", "delivering", "answered", "withdrawn"] })
  const threads = await Promise.all(runs.map(async ({ thread }) => thread && (await store.thread(thread))))
  const kinds = ["a2a-task", "api-key", "webhook", "hook", "definition", "definition-version", "link"]
  const schedules = await store.schedules.list({})
  const records = await Promise.all(kinds.map(async (kind) => await store.records.list(kind)))
  const mail = await Promise.all(runs.map(async ({ runId }) => await store.mailAmount(runId)))
  const own = (value: unknown) => JSON.stringify(value).includes(canary)
  const isRun = ({ runId }: { readonly runId: string }) => runs.some((run) => run.runId === runId)
  const isOfA = (value: unknown) => JSON.stringify(value).includes('"superstep.tenant":"a"')
  const owned = [...records.flat().filter(own), ...schedules.filter(isOfA)]
  return JSON.stringify([runs, requests.filter(isRun), threads, owned, mail])
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

interface Operation {
  readonly "x-role"?: Role | "none"
  readonly parameters?: Route["parameters"]
  readonly requestBody?: { readonly content?: { readonly "application/json"?: { readonly schema: Schema } } }
}

async function routesOf(server: Server, key: string): Promise<{ routes: Route[]; without: string[] }> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await server.fetch(new Request("http://local/openapi.json", { headers }))
  const document = (await response.json()) as Document
  const routes: Route[] = []
  const without: string[] = []
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [name, operation] of Object.entries(methods)) {
      const method = name.toUpperCase()
      const { "x-role": named, parameters = [], requestBody } = operation
      const role = named === "none" ? undefined : named
      if (named === undefined || (role !== undefined && !ROLES.includes(role))) {
        without.push(`${method} ${path}`)
        continue
      }
      const schema = requestBody?.content?.["application/json"]?.schema
      const body = schema === undefined ? undefined : sampleOf(schema, document)
      routes.push({ method, path, role, parameters, body })
    }
  }
  // What reads comes first: later it shows what the walk itself has sent. What a PUT creates, no later route must find.
  const rank = ({ method }: Route) => (method === "GET" ? 0 : method === "PUT" ? 2 : 1)
  return { routes: routes.sort((a, b) => rank(a) - rank(b)), without }
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly example?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

const ID_FIELDS = ["run", "runId", "runs", "request", "key", "previous_response_id"]

/** The smallest value that the schema accepts, with all ids that it may have. */
function sampleOf(schema: Schema, document: Document = { paths: {} }): unknown {
  const { $ref, properties = {}, required = [], items, minItems = 0 } = schema
  if ($ref !== undefined) {
    return sampleOf(document.components?.schemas?.[$ref.split("/").at(-1) as string] ?? {}, document)
  }
  if (schema.allOf !== undefined) {
    return Object.assign({}, ...schema.allOf.map((one) => sampleOf(one, document)))
  }
  if (schema.example !== undefined) return schema.example
  const [first] = schema.anyOf ?? schema.oneOf ?? []
  if (first !== undefined) return sampleOf(first, document)
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  switch ([schema.type].flat()[0]) {
    case "object": {
      const isAny = ({ type, $ref: ref, anyOf }: Schema) => (type ?? ref ?? anyOf) === undefined
      const chosen = Object.entries(properties).filter(
        ([name, one]) => required.includes(name) || isAny(one) || ID_FIELDS.includes(name),
      )
      return Object.fromEntries(chosen.map(([name, one]) => [name, sampleOf(one, document)]))
    }
    case "array":
      return Array.from({ length: minItems }, () => sampleOf(items ?? {}, document))
    case "number":
    case "integer":
      return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1
    case "boolean":
      return false
    default:
      return schema.format === "uri" ? "https://example.com/" : "1"
  }
}
