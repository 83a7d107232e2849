/**
 * A manager and a team. The manager writes down facts and a plan, then, round by round, where the work stands and who goes
 * on. A round without progress, or in a loop, counts as a stall; one with progress takes a stall back. Above the most there
 * may be, the manager starts over, with what was learned and another plan.
 *
 * G1 the same is asked of the manager in one task each: facts, plan, progress, answer. So each is a checkpoint.
 * G2 a progress ledger that cannot be read, after the manager's repairs, is a stall.
 * G3 there is always an answer: also when rounds or resets are used up.
 */
import { managerNodes } from "./magentic-manager.ts"
import { LEDGER, MAGENTIC, talkSince } from "./magentic-state.ts"
import { checkManager, checkMembers, type Member, roster, type SomeAgent } from "./member.ts"
import { beginNode, checkCount, seat, type Team, type TeamOptions, teamBuilder } from "./team.ts"

export interface MagenticOptions extends TeamOptions {
  /** Plans, looks after progress, and answers. */
  readonly manager: SomeAgent
  readonly agents: readonly Member[]
  /** Stalls that are let pass; one more, and the manager starts over. Default 3. */
  readonly maxStalls?: number | undefined
  /** Rounds at the most, over all plans. Default 50. */
  readonly maxRounds?: number | undefined
  /** How often the manager may start over. Default 5. */
  readonly maxResets?: number | undefined
  /** A person sees each plan before it is followed: approves it, changes it, or says what is wrong with it. */
  readonly planReview?: boolean | { readonly to?: string | undefined } | undefined
}

export function magentic(options: MagenticOptions): Team {
  const { manager, agents, maxStalls = 3, maxRounds = 50, maxResets = 5, planReview = false } = options
  const name = options.name ?? "magentic"
  checkMembers(name, agents)
  checkManager(name, manager, agents)
  checkCount(name, "maxStalls", maxStalls, 0)
  checkCount(name, "maxRounds", maxRounds)
  checkCount(name, "maxResets", maxResets, 0)
  const { facts, plan, review, progress, answer } = managerNodes({
    manager,
    members: agents.map((one) => one.name),
    team: roster(agents),
    maxStalls,
    maxRounds,
    maxResets,
    reviewer: planReview === true ? {} : planReview === false ? undefined : planReview,
  })
  const builder = teamBuilder("magentic", options, [MAGENTIC, LEDGER])
  const begin = beginNode()
  builder.start(begin).edge(begin, facts).edge(facts, plan)
  if (review === undefined) builder.edge(plan, progress)
  else {
    const isRefused = ({ feedback }: { feedback?: string }) => feedback !== undefined
    builder
      .edge(plan, review)
      .switch(review, [{ when: isRefused, to: plan, label: "not accepted" }], progress)
  }
  const others = [facts, answer, progress]
  return seat<string>({
    builder,
    members: agents,
    table: progress,
    others,
    said: talkSince,
  }).build() as unknown as Team
}
