import { isSuperstepError, type Run } from "superstep"
import { type Outcome, outcomeOf, type Scenario } from "./scenarios/index.ts"

/** Answers what is asked until the run is over. */
export async function comeToEnd(scenario: Scenario, run: Run): Promise<Outcome> {
  for (;;) {
    const result = await run.result
    if (result.status !== "waiting") return outcomeOf(scenario, result)
    for (const request of result.requests) {
      const answer = scenario.answers?.(request)
      if (answer !== undefined) await run.respond(request.id, answer).catch(unlessAnswered)
    }
    // What is left open has a deadline, which is milliseconds away.
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** The answer of a process that died may arrive after all: through Restate, which brings it again, before that of the next one. */
function unlessAnswered(error: unknown): void {
  if (!isSuperstepError(error, "REQUEST_ANSWERED") && !isSuperstepError(error, "RUN_OVER")) throw error
}
