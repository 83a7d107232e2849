/** Signatures of the Standard Webhooks specification, symmetric: https://www.standardwebhooks.com. */
import { createHmac, randomBytes } from "node:crypto"

const PREFIX = "whsec_"
const SECRET_BYTES = 32

export function newSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}`
}

export interface SignedMessage {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

/** A signature as `webhook-signature` lists it. */
export function signatureOf(secret: string, { id, timestamp, body }: SignedMessage): string {
  const key = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, "base64")
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`
}

/** One signature for each secret: during a rotation the receiver accepts either. */
export function signedHeaders(secrets: readonly string[], message: SignedMessage): Record<string, string> {
  return {
    "webhook-id": message.id,
    "webhook-timestamp": `${message.timestamp}`,
    "webhook-signature": secrets.map((secret) => signatureOf(secret, message)).join(" "),
  }
}
