/** What definitions that are sent to a server may use, wherever they are executed. */
import type { ServerOptions } from "@superstep/server"
import { InvalidArgumentError, Option } from "commander"

export type TrustCapability = NonNullable<ServerOptions["allow"]>[number]

/** As `TRUST_CAPABILITIES` of the engine has them: listed here, because help loads no definitions. */
const CAPABILITIES: readonly TrustCapability[] = [
  "program",
  "mcp program",
  "filesystem",
  "private address",
  "private addresses",
  "consent",
  "schedules",
]

export function allowOption(): Option {
  return new Option(
    "--allow <capability>",
    "let definitions that are sent to the server use this; repeatable (default: nothing outside of the workflow)",
  )
    .choices(CAPABILITIES)
    .argParser(parseCapability)
}

function parseCapability(text: string, before: readonly TrustCapability[] = []): readonly TrustCapability[] {
  const found = CAPABILITIES.find((one) => one === text)
  if (found !== undefined) return [...before, found]
  throw new InvalidArgumentError(`Allowed choices are ${CAPABILITIES.join(", ")}.`)
}
