/** Workflows of every kind, for tests that kill their processes. */
import { calls } from "./calls.ts"
import { everything } from "./everything.ts"
import { failing } from "./failing.ts"
import { flowing } from "./flowing.ts"
import { inbox } from "./inbox.ts"
import { joins } from "./joins.ts"
import { limits } from "./limits.ts"
import { loops } from "./loops.ts"
import { nested } from "./nested.ts"
import { people } from "./people.ts"
import { retries } from "./retries.ts"
import type { Scenario, Watch } from "./scenario.ts"
import { sleeps } from "./sleeps.ts"
import { state } from "./state.ts"
import { threads } from "./threads.ts"

export { type Outcome, outcomeOf, type Scenario, type Watch } from "./scenario.ts"

export const scenarios = {
  everything,
  joins,
  loops,
  retries,
  sleeps,
  people,
  inbox,
  nested,
  calls,
  flowing,
  limits,
  state,
  failing,
  threads,
} satisfies Record<string, (watch: Watch) => Scenario>

export type ScenarioName = keyof typeof scenarios
