/** An address with `${env.NAME}` in its variables and headers filled: keys stay in the environment until they are sent. */
import { fillTemplate } from "@superstep/engine/tools"
import { isProgram, type McpServerAddress } from "./server-address.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** Throws where the environment has not what it asks for. */
export function filledAddress(address: McpServerAddress, env: Environment = process.env): McpServerAddress {
  const filled = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fillTemplate(text, env)]))
  if (isProgram(address))
    return address.env === undefined ? address : { ...address, env: filled(address.env) }
  return address.headers === undefined ? address : { ...address, headers: filled(address.headers) }
}
