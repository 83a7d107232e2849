/**
 * A group chat: members talk in one conversation. After every turn the next speaker is chosen: by a function, by a
 * manager agent, or round robin.
 */
import { z } from "zod"
import { runAgent } from "../../agents/internal.ts"
import { isSuperstepError, type Turn } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import {
  answering,
  checkManager,
  checkMembers,
  INPUT,
  lastMessageText,
  MESSAGES,
  type Member,
  roster,
  type SomeAgent,
  type TeamMessage,
  teamInvalid,
  transcript,
  viewOf,
} from "./member.ts"
import {
  beginNode,
  checkCount,
  finish,
  give,
  isTerminated,
  memberOf,
  say,
  seat,
  TEAM,
  type Team,
  type TeamOptions,
  type Terminate,
  tableNode,
  teamBuilder,
} from "./team.ts"

export interface Choosing {
  readonly messages: readonly TeamMessage[]
  /** Turns so far. */
  readonly round: number
  readonly members: readonly string[]
  /** The last speaker. */
  readonly last: string | undefined
}

/** The name of the next speaker; undefined ends the conversation. */
export type SelectSpeaker = (
  choosing: Choosing,
  ctx: Context,
) => string | undefined | Promise<string | undefined>

export interface GroupChatOptions extends TeamOptions {
  readonly agents: readonly Member[]
  /** Chooses the next speaker. Default without a manager: round robin. */
  readonly select?: SelectSpeaker | undefined
  /** An agent that chooses the next speaker, or ends the conversation with its own answer. */
  readonly manager?: SomeAgent | undefined
  /** Maximum turns. Default 20. */
  readonly maxRounds?: number | undefined
  readonly terminate?: Terminate | undefined
}

const ROUNDS = 20

interface Choice {
  readonly to?: string | undefined
  readonly note?: string | undefined
  /** The message that ends the conversation. */
  readonly answer?: TeamMessage | undefined
}

export function groupChat(options: GroupChatOptions): Team {
  const { agents, select, manager, maxRounds = ROUNDS, terminate } = options
  const name = options.name ?? "group-chat"
  checkMembers(name, agents)
  if (manager !== undefined) checkManager(name, manager, agents)
  if (manager !== undefined && select !== undefined) {
    throw teamInvalid(name, "set either manager or select to choose who speaks next.")
  }
  checkCount(name, "maxRounds", maxRounds)
  const members = agents.map((one) => one.name)
  const inTurn: SelectSpeaker = ({ round }) => members[round % members.length]
  const choose = manager === undefined ? byFunction(select ?? inTurn) : byManager(manager, agents, inTurn)

  const turns = manager === undefined && select === undefined ? inOrder(members) : undefined
  const chair = tableNode("#chair", { name: manager?.name, turns }, async ({ from }, ctx) => {
    const state = ctx.state.get(TEAM)
    const { round } = state
    const spoken = ctx.state.get(MESSAGES)
    if (round > 0 && (await isTerminated(ctx, terminate, round))) {
      return finish(ctx, name, state, "terminated", lastMessageText(spoken)) as undefined
    }
    if (round >= maxRounds) return finish(ctx, name, state, "rounds", lastMessageText(spoken)) as undefined
    const { to, note, answer } = await choose({ messages: transcript(ctx), round, members, last: from }, ctx)
    if (answer !== undefined) say(ctx, answer, round)
    if (to === undefined) {
      return finish(ctx, name, state, "answered", answer?.text ?? lastMessageText(spoken)) as undefined
    }
    return give(ctx, state, memberOf(name, agents, to).name, note)
  })
  const builder = teamBuilder("group-chat", options, [TEAM])
  const begin = beginNode()
  builder.start(begin).edge(begin, chair)
  return seat({ name, builder, members: agents, table: chair })
}

/** One after another, and again from the first. Anybody may be the last. */
function inOrder(members: readonly string[]): readonly Turn[] {
  return [
    { to: members[0] },
    ...members.flatMap((from, i) => [
      { from, to: members[(i + 1) % members.length] },
      { from, label: "END" },
    ]),
  ]
}

type Choose = (choosing: Choosing, ctx: Context) => Promise<Choice>

function byFunction(select: SelectSpeaker): Choose {
  return async (choosing, ctx) => ({ to: await select(choosing, ctx) })
}

function byManager(manager: SomeAgent, agents: readonly Member[], otherwise: SelectSpeaker): Choose {
  const names = agents.map((one) => one.name) as [string, ...string[]]
  const schema = z.object({
    is_finished: z.boolean().describe("Whether the conversation has what the user asked for."),
    next_speaker: z.enum(names).nullable().describe("Who speaks next; null when it is finished."),
    instruction: z.string().nullable().describe("An instruction for the next speaker, if any."),
    answer: z.string().nullable().describe("The answer for the user, when it is finished."),
  })
  const core = answering(manager, schema)
  const question = `You lead this conversation. Its members:\n${roster(agents)}\n\nDecide who speaks next, or that the conversation is finished. Answer with JSON alone: is_finished, next_speaker, instruction, answer.`
  return async (choosing, ctx) => {
    const messages = viewOf(manager.name, ctx.state.get(INPUT), ctx.state.get(MESSAGES), question)
    let choice: z.infer<typeof schema>
    try {
      choice = (await runAgent(core, { messages }, ctx)) as typeof choice
    } catch (error) {
      if (!isSuperstepError(error) || error.code !== "OUTPUT_INVALID") throw error
      ctx.log("warn", `"${manager.name}" did not choose the next speaker; the members speak in turn.`, {
        reason: error.message,
      })
      return { to: await otherwise(choosing, ctx) }
    }
    const { is_finished, next_speaker, instruction, answer } = choice
    if (is_finished || next_speaker === null) {
      return answer === null || answer === "" ? {} : { answer: { speaker: manager.name, text: answer } }
    }
    return { to: next_speaker, note: instruction ?? undefined }
  }
}
