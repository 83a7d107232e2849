/**
 * How definitions that came over HTTP are loaded: as files of an author who is not trusted, which read no other files. The
 * server's operator allows capabilities by name.
 */
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SuperstepError } from "@superstep/engine"
import type { LoadOptions, TrustCapability } from "@superstep/engine/definitions"

/** For `loadDefinition({ file, text }, …)`. */
export type SubmittedOptions = Pick<LoadOptions, "trust" | "allow" | "read" | "functions" | "cwd">

/** As the engine lists them: its definitions are loaded only where they are used. The type keeps the list complete. */
const CAPABILITIES: { readonly [name in TrustCapability]: true } = {
  program: true,
  "mcp program": true,
  filesystem: true,
  "private address": true,
  "private addresses": true,
  consent: true,
  schedules: true,
}

/** Throws OPTION_INVALID for a capability that cannot be allowed. */
export function submittedOptions(allow: readonly TrustCapability[] = []): SubmittedOptions {
  const unknown = allow.find((name) => !Object.hasOwn(CAPABILITIES, name))
  if (unknown !== undefined) {
    const known = Object.keys(CAPABILITIES).join(", ")
    throw new SuperstepError("OPTION_INVALID", `allow: "${unknown}" is not a capability: use ${known}.`)
  }
  const refused = {
    from: "@superstep/server",
    make: () => {
      throw notAllowed("Toolsets that read and write files")
    },
  }
  if (allow.includes("filesystem")) return { trust: "none", allow }
  return {
    trust: "none",
    allow,
    read: () => {
      throw notAllowed("Other files")
    },
    functions: { filesystem: refused, memory: refused },
    // What is read later is read below this folder, which does not exist.
    cwd: join(tmpdir(), `superstep-${randomUUID()}`),
  }
}

function notAllowed(what: string): SuperstepError {
  return new SuperstepError("UNTRUSTED", `${what} are not allowed in a definition that is sent to a server.`)
}
