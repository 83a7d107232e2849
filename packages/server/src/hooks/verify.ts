/**
 * Whether a request comes from who it claims: signatures of webhooks, over the body before it is parsed. Comparisons
 * take the same time whatever they find.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { z } from "@hono/zod-openapi"
import { signatureOf } from "../webhooks/signature.ts"

/** Seconds by which the time of a signature may differ from now. */
const TOLERANCE = 300
const MAX_SIGNATURES = 10

const secret = z.string().min(16).max(1_000)

export const verifySchema = z
  .discriminatedUnion("type", [
    z
      .object({
        type: z.literal("standard"),
        secret: secret
          .regex(/^(whsec_)?[A-Za-z0-9+/]+={0,2}$/, "must be base64, with or without whsec_")
          .optional()
          .openapi({ description: "Default: a new one, which is shown once." }),
      })
      .strict(),
    z.object({ type: z.enum(["github", "stripe", "slack"]), secret }).strict(),
    z
      .object({
        type: z.literal("header"),
        name: z.string().regex(/^[A-Za-z0-9-]{1,100}$/, "must be the name of a header"),
        secret,
      })
      .strict(),
  ])
  .openapi("HookVerification")

export type Verification = z.infer<typeof verifySchema> & { readonly secret: string }

export interface SentRequest {
  readonly headers: Headers
  readonly body: string
  /** Seconds since 1970. */
  readonly now: number
}

/** False for a request that is not signed, not by this secret, or too long ago. */
export function isGenuine(verify: Verification, request: SentRequest): boolean {
  return VERIFIERS[verify.type](verify as never, request)
}

/** The id that the sender gives a delivery, and repeats with each attempt at it. Undefined if it has none. */
export function deliveryId({ type }: Verification, headers: Headers, body: unknown): string | undefined {
  const event = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {}
  const id = {
    standard: headers.get("webhook-id"),
    github: headers.get("x-github-delivery"),
    stripe: event.id,
    slack: event.event_id,
    header: undefined,
  }[type]
  return typeof id === "string" && id !== "" && id.length <= 200 ? id : undefined
}

type Verifier<Type> = (
  verify: Extract<Verification, { type: Type }> & { secret: string },
  request: SentRequest,
) => boolean

const VERIFIERS: { readonly [Type in Verification["type"]]: Verifier<Type> } = {
  standard({ secret: key }, { headers, body, now }) {
    const [id, time, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(
      (name) => headers.get(name) ?? "",
    ) as [string, string, string]
    const timestamp = timeOf(time)
    if (timestamp === undefined || !isRecent(timestamp, now)) return false
    return isAnyOf(signatureOf(key, { id, timestamp, body }), signatures.split(" "))
  },
  github: ({ secret: key }, { headers, body }) =>
    isSame(headers.get("x-hub-signature-256") ?? "", `sha256=${hmac(key, body)}`),
  stripe({ secret: key }, { headers, body, now }) {
    const parts = (headers.get("stripe-signature") ?? "").split(",").map((part) => part.trim().split("="))
    const time = parts.find(([name]) => name === "t")?.[1]
    const timestamp = timeOf(time)
    if (timestamp === undefined || !isRecent(timestamp, now)) return false
    const signatures = parts.flatMap(([name, value]) => (name === "v1" && value !== undefined ? [value] : []))
    return isAnyOf(hmac(key, `${time}.${body}`), signatures)
  },
  slack({ secret: key }, { headers, body, now }) {
    const time = headers.get("x-slack-request-timestamp") ?? ""
    const timestamp = timeOf(time)
    if (timestamp === undefined || !isRecent(timestamp, now)) return false
    return isSame(headers.get("x-slack-signature") ?? "", `v0=${hmac(key, `v0:${time}:${body}`)}`)
  },
  header: ({ name, secret: key }, { headers }) => isSame(headers.get(name) ?? "", key),
}

function timeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined
}

function isRecent(timestamp: number, now: number): boolean {
  return Math.abs(now - timestamp) <= TOLERANCE
}

function hmac(key: string, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex")
}

function isAnyOf(expected: string, found: readonly string[]): boolean {
  return found.slice(0, MAX_SIGNATURES).some((one) => isSame(one, expected))
}

/** Compares hashes, so that not even the lengths show. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash("sha256").update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}
