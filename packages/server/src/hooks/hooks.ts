/**
 * Webhooks of others: a hook is an address at which a service reports something, which starts a run or signals one. Expressions
 * of its author map the request to the input. A request is untrusted until its signature is verified: nothing is
 * parsed, evaluated or looked up before, and every refusal is the same.
 */
import { isSuperstepError, type Json, SuperstepError } from "@superstep/engine"
import { ExpressionError, expression } from "@superstep/engine/definitions"
import { z } from "zod"
import { isVisible, type Principal, tenantName } from "../access.ts"
import { Documents, type Identified } from "../documents.ts"
import { startRun, visibleWorkflow } from "../runs.ts"
import type { Services } from "../services.ts"
import { deliveryId, isGenuine, type Verification, verifySchema } from "./verify.ts"

const hookSchema = z.object({
  name: z.string(),
  workflow: z.string(),
  verify: verifySchema,
  input: z.string(),
  idempotencyKey: z.string().optional(),
  ignore: z.string().optional(),
  signal: z.object({ name: z.string(), run: z.string().optional(), key: z.string().optional() }).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  enabled: z.boolean(),
  tenant: z.string().optional(),
  createdAt: z.number(),
  createdBy: z.string(),
  /** Of the last request that was genuine, and could not be used. */
  failure: z.object({ at: z.number(), message: z.string() }).optional(),
})

type StoredHook = z.infer<typeof hookSchema>
export type Hook = Identified<StoredHook>

/** What expressions refer to. */
const ROOTS = ["body", "headers", "query"]
const MAX_MESSAGE = 500

export type HookAnswer =
  | { readonly status: 202 }
  /** Slack asks whether the address is ours. */
  | { readonly status: 200; readonly challenge: string }
  /** Nobody learns whether the hook exists. */
  | { readonly status: 401 }
  | { readonly status: 422 }

export class Hooks {
  readonly documents: Documents<typeof hookSchema>
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
    this.documents = new Documents(services.runtime.store, "hook", hookSchema)
  }

  /** Who a hook acts as: it sees runs of its workflow, and of its tenant. */
  principalOf({ id, tenant, workflow }: Hook): Principal {
    return { id: `hook:${id}`, role: "operator", tenant, workflows: [workflow] }
  }

  async receive(
    id: string,
    request: Request,
  ): Promise<{ readonly answer: HookAnswer; readonly hook?: Hook }> {
    const hook = await this.documents.find(id)
    const { headers } = request
    const body = await request.text()
    const now = Math.floor(Date.now() / 1_000)
    // Also without a hook: the answer takes as long.
    const isSigned = isGenuine((hook ?? NO_HOOK).verify as Verification, { headers, body, now })
    if (hook === undefined || !isSigned || !hook.enabled) return { answer: { status: 401 } }
    try {
      return { hook, answer: await this.#act(hook, request, body) }
    } catch (error) {
      if (!isSuperstepError(error) && !(error instanceof ExpressionError)) throw error
      const message = error.message.slice(0, MAX_MESSAGE)
      await this.documents.change(id, (stored) => ({ ...stored, failure: { at: Date.now(), message } }))
      return { hook, answer: { status: 422 } }
    }
  }

  async #act(hook: Hook, request: Request, text: string): Promise<HookAnswer> {
    const { headers } = request
    const body = bodyOf(headers.get("content-type") ?? "", text)
    const challenge = hook.verify.type === "slack" ? challengeOf(body) : undefined
    if (challenge !== undefined) return { status: 200, challenge }
    const scope: Scope = {
      body,
      headers: Object.fromEntries(headers),
      query: Object.fromEntries(new URL(request.url).searchParams),
    }
    if (hook.ignore !== undefined && evaluated(hook.ignore, scope) === true) return { status: 202 }
    const value = evaluated(hook.input, scope)
    if (value === undefined) throw unusable(`"${hook.input}" is missing in the request`)
    const { idempotencyKey } = hook
    const id = idempotencyKey === undefined ? undefined : nameOf(idempotencyKey, scope)
    const delivery = id ?? deliveryId(hook.verify as Verification, headers, body)
    if (hook.signal === undefined) await this.#start(hook, value, delivery)
    else await this.#signal(hook, hook.signal, value, delivery, scope)
    return { status: 202 }
  }

  async #start(hook: Hook, input: Json, delivery: string | undefined): Promise<void> {
    const principal = this.principalOf(hook)
    const workflow = await visibleWorkflow(principal, this.#services, hook.workflow)
    const key = delivery === undefined ? undefined : `hook:${hook.id}:${delivery}`
    const run = startRun(principal, this.#services, workflow, { input, key, labels: hook.labels })
    // The sender does not wait for its result.
    run.result.catch(() => undefined)
    try {
      await run.stored()
    } catch (error) {
      // The same delivery, mapped to another input: it has its run.
      if (key === undefined || !isSuperstepError(error, "RUN_EXISTS")) throw error
    }
  }

  async #signal(
    hook: Hook,
    { name, run, key }: NonNullable<Hook["signal"]>,
    value: Json,
    delivery: string | undefined,
    scope: Scope,
  ): Promise<void> {
    const { runtime } = this.#services
    const principal = this.principalOf(hook)
    const id = run === undefined ? undefined : nameOf(run, scope)
    const ofKey = key === undefined ? undefined : tenantName(principal, nameOf(key, scope))
    const [row] =
      id !== undefined
        ? [await runtime.store.run(id)]
        : await runtime.runs({ key: ofKey, workflow: hook.workflow, limit: 1 })
    if (row === undefined || !isVisible(principal, row)) {
      throw unusable(`there is no run "${id ?? ofKey}" of workflow "${hook.workflow}"`)
    }
    await runtime.signal(
      row.runId,
      name,
      value,
      delivery === undefined ? {} : { id: `hook:${hook.id}:${delivery}` },
    )
  }
}

type Scope = Readonly<Record<string, Json>>

/** Throws OPTION_INVALID for what is no expression over the request. */
export function checkExpression(field: string, text: string): void {
  try {
    const unknown = expression(text, "steps").references.find(({ root }) => !ROOTS.includes(root))
    if (unknown === undefined) return
    throw new SuperstepError(
      "OPTION_INVALID",
      `${field}: there is no $${unknown.root}; use $body, $headers and $query.`,
    )
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    throw new SuperstepError("OPTION_INVALID", `${field}: ${error.message}`, { cause: error })
  }
}

function evaluated(text: string, scope: Scope): Json | undefined {
  return expression(text, "steps").evaluate((root) => scope[root])
}

function nameOf(text: string, scope: Scope): string {
  const value = evaluated(text, scope)
  if (typeof value === "number") return String(value)
  if (typeof value === "string" && value !== "" && value.length <= 200) return value
  throw unusable(`"${text}" must be a string of 1 to 200 characters`)
}

/** A form, JSON, or plain text. Slack sends JSON in the field `payload` of a form. */
function bodyOf(type: string, text: string): Json {
  const media = type.split(";")[0]?.trim().toLowerCase() ?? ""
  if (media === "application/x-www-form-urlencoded") {
    const form = Object.fromEntries(new URLSearchParams(text))
    return form.payload === undefined ? form : { ...form, payload: parsed(form.payload) }
  }
  if (text === "") return null
  // Some senders call JSON text.
  if (media === "" || media.startsWith("text/")) return parsedOr(text, () => text)
  return parsed(text)
}

function parsedOr(text: string, otherwise: () => Json): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return otherwise()
  }
}

function parsed(text: string): Json {
  return parsedOr(text, () => {
    throw unusable("the body is not JSON")
  })
}

function challengeOf(body: Json): string | undefined {
  if (typeof body !== "object" || body === null || !("type" in body) || !("challenge" in body))
    return undefined
  const { type, challenge } = body
  return type === "url_verification" && typeof challenge === "string" ? challenge : undefined
}

function unusable(why: string): SuperstepError {
  return new SuperstepError("HOOK_UNUSABLE", `The request cannot be used: ${why}.`)
}

/** Verifies nothing. */
const NO_HOOK: Pick<Hook, "verify"> = { verify: { type: "github", secret: crypto.randomUUID() } }
