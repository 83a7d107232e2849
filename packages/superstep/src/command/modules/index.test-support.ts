/** The paths of the modules for tests of the CLI. */
import { fileURLToPath } from "node:url"

export type ModuleName =
  | "agent"
  | "ask"
  | "chatty"
  | "empty"
  | "greet"
  | "odd"
  | "slow"
  | "starved"
  | "unnamed"
  | "starved-below"

export function moduleFile(name: ModuleName): string {
  return fileURLToPath(new URL(`./${name}-module.test-support.ts`, import.meta.url))
}
