/** One member after another, each seeing all that was said before. The last one's answer is the team's. */
import { checkMembers, type Member, memberNode, speak } from "./member.ts"
import { beginNode, say, type Team, type TeamOptions, teamBuilder } from "./team.ts"
import { SAID, saidBy } from "./transcript.ts"

export function sequential(agents: readonly Member[], options: TeamOptions = {}): Team<unknown> {
  checkMembers(options.name ?? "sequential", agents, false)
  const nodes = agents.map((member, i) => {
    const before = agents.slice(0, i).filter(({ name }) => name === member.name).length
    const id = before === 0 ? member.name : `${member.name}#${before + 1}`
    return memberNode(
      member,
      async (_, ctx) => {
        ctx.emit("team.turn", { speaker: member.name, round: i + 1 })
        const { answer } = await speak(member, { said: ctx.state.get(SAID) }, ctx)
        say(ctx, saidBy(member.name, answer), i + 1)
        return i === agents.length - 1 ? answer : {}
      },
      id,
    )
  })
  const builder = teamBuilder("sequential", options, [])
  return builder.chain(beginNode(), ...(nodes as [])).build() as unknown as Team<unknown>
}
