/** What must not come out of a server's address: header values, and variables and parameters called like a secret. */
import { headerSecrets, isSecretName, Masking } from "@superstep/engine/tools"
import { isProgram, type McpServerAddress } from "./server-address.ts"

export function hiddenValues(address: McpServerAddress): Masking {
  if (isProgram(address)) return Masking.of(secretsIn(Object.entries(address.env ?? {})))
  const parameters = secretsIn([...new URL(address.url).searchParams])
  return Masking.of([...parameters, ...headerSecrets(address.headers ?? {})])
}

function secretsIn(named: readonly (readonly [name: string, value: string])[]): string[] {
  return named.flatMap(([name, value]) => (isSecret(name) ? [value] : []))
}

/** Google's services take their key as a parameter that is called just that. */
function isSecret(name: string): boolean {
  return isSecretName(name) || /^key$/i.test(name)
}
