/**
 * Random graphs with random handlers: the behaviour of a handler depends only on its node, its message and a salt, so
 * that a run is deterministic whatever happens to its processes.
 */
import { compileGraph, type EdgeGroup, type GraphSpec, type Json, SuperstepError } from "../../core/index.ts"
import { hash32 } from "../../core/retry.ts"
import {
  type Callable,
  type Channel,
  type Context,
  type EdgeFunctions,
  type Handler,
  programNode,
  Router,
} from "../../runtime/index.ts"
import { tamper } from "./tamper.ts"

export interface RandomProgram {
  readonly workflow: Callable<unknown, unknown>
  /** Whether all days end the same way: no task waits for a person or a timer, and messages are committed together. */
  readonly isAlwaysAlike: boolean
}

export function randomProgram(spec: GraphSpec, salt: number, mayWait: boolean): RandomProgram {
  const { graph } = compileGraph(spec)
  const functions: EdgeFunctions = new Map(spec.edges.map((group) => [group, functionsOf(group, salt)]))
  const lists = new Set(spec.edges.flatMap((group) => (group.kind === "map" ? [group.from] : [])))
  const nodes = graph.nodes.map((node) => {
    const run: Handler = (message: Json, ctx: Context) =>
      act(ctx, new Dice(`${salt} ${node.id} ${JSON.stringify(message)}`), mayWait, lists.has(node.id))
    const onAnswer: Handler = (answer: Json, ctx: Context) => {
      ctx.state.write(sum, 1)
      return lists.has(node.id) ? [answer] : answer
    }
    return programNode(
      node,
      { handlers: [{ run }], onAnswer: { run: onAnswer } },
      new Router(node, functions),
    )
  })
  const reducers = new Map([["biggest", biggest]])
  const hasTimers = spec.edges.some((group) => group.kind === "fan-in" && group.timeout !== undefined)
  return {
    workflow: { name: spec.name, program: { graph, nodes, reducers } },
    isAlwaysAlike: graph.schedule === "superstep" && !mayWait && !hasTimers,
  }
}

/** The workflow that handlers call: it runs steps, sleeps, and fails for some inputs. */
const inner: Callable<number, number> = (() => {
  const { graph } = compileGraph({
    name: "inner",
    start: "first",
    nodes: [
      { id: "first", kind: "node" },
      { id: "second", kind: "node" },
    ],
    edges: [{ kind: "single", from: "first", to: "second" }],
  })
  const handlers: Handler[] = [
    async (n: number, ctx) => ctx.step("add", () => n + 1, { usage: () => ({ modelCalls: 1 }) }),
    async (n: number, ctx) => {
      await ctx.sleep(n)
      if (n === 3) throw new SuperstepError("E3", "inner")
      return n
    },
  ]
  const nodes = graph.nodes.map((node, i) =>
    programNode(node, { handlers: [{ run: handlers[i] as Handler }] }, new Router(node, new Map())),
  )
  return { name: "inner", program: { graph, nodes, reducers: new Map() } }
})()

const sum = { key: "sum" } as Channel<number, number>
const list = { key: "list" } as Channel<readonly string[], readonly string[]>
const last = { key: "last" } as Channel<number, number>
const top = { key: "top" } as Channel<{ top: number }, { top: number }>

function biggest(current: Json | undefined, write: Json): Json {
  refuseChange([current, write].filter((one) => typeof one === "object" && one !== null)[0])
  const [before, after] = [current, write].map((one) => (one as { top: number } | undefined)?.top ?? 0)
  return { top: Math.max(before as number, after as number) }
}

/** V1: conditions, selections and reducers may try to change their arguments. */
function refuseChange(value: unknown): void {
  const [where] = tamper(value).changed
  if (where !== undefined) throw new Error(`a value of the run could be changed at ${where} (V1)`)
}

/** Numbers that depend on a string alone. */
class Dice {
  readonly #text: string
  #throws = 0

  constructor(text: string) {
    this.#text = text
  }

  below(n: number): number {
    return hash32(this.#text, ++this.#throws) % n
  }
  oneIn(n: number): boolean {
    return this.below(n) === 0
  }
}

/** Handlers end at once, or later. */
function act(ctx: Context, dice: Dice, mayWait: boolean, givesList: boolean): unknown {
  if (dice.oneIn(3)) return actAtOnce(ctx, dice, givesList)
  return actInTime(ctx, dice, mayWait, givesList)
}

function actAtOnce(ctx: Context, dice: Dice, givesList: boolean): unknown {
  write(ctx, dice)
  fail(ctx, dice)
  return result(ctx, dice, givesList)
}

async function actInTime(ctx: Context, dice: Dice, mayWait: boolean, givesList: boolean): Promise<unknown> {
  const drawn = dice.below(9)
  if (drawn < 3) await ctx.step("one", () => drawn, { usage: () => ({ modelCalls: 1 }) })
  if (mayWait && dice.oneIn(3)) await ctx.sleep(dice.below(40))
  if (mayWait && dice.oneIn(4)) await ctx.call(inner, dice.below(4)).catch(() => undefined)
  write(ctx, dice)
  if (mayWait && dice.oneIn(5)) await ctx.ask("well?")
  if (mayWait && dice.oneIn(6)) ctx.request("later?")
  if (dice.oneIn(4)) await Promise.all([ctx.step("two", () => 2), ctx.step("two", async () => null)])
  fail(ctx, dice)
  return result(ctx, dice, givesList)
}

function write(ctx: Context, dice: Dice): void {
  if (dice.oneIn(3)) ctx.state.write(sum, dice.below(10))
  if (dice.oneIn(3)) ctx.state.write(list, [`${ctx.node} saw ${ctx.state.get(sum)}`])
  if (dice.oneIn(4)) ctx.state.write(last, dice.below(10))
  if (dice.oneIn(4)) ctx.state.write(top, { top: dice.below(100) })
  if (dice.oneIn(4)) ctx.local.set("calls", (ctx.local.get<number>("calls") ?? 0) + 1)
  if (dice.oneIn(4)) ctx.use({ inputTokens: dice.below(5) })
}

/** Mostly failures that are retried. */
function fail(ctx: Context, dice: Dice): void {
  if (ctx.attempt === 1 && dice.oneIn(10)) throw new SuperstepError("E1", "once")
  if (dice.oneIn(80)) throw new SuperstepError("E2", "permanent")
}

function result(ctx: Context, dice: Dice, givesList: boolean): unknown {
  if (givesList) return Array.from({ length: dice.below(4) }, (_, i) => ({ i }))
  if (dice.oneIn(8)) ctx.output({ out: [dice.below(10)] })
  if (dice.oneIn(10)) return undefined
  return dice.oneIn(2) ? dice.below(5) : { n: dice.below(5), parts: [{ of: ctx.node }] }
}

function functionsOf(group: EdgeGroup, salt: number) {
  const holds = (message: Json) => {
    refuseChange(message)
    return hash32(JSON.stringify(message), salt) % 3 > 0
  }
  if (group.kind === "single") return group.conditional ? { conditions: [holds] } : {}
  if (group.kind === "switch") return { conditions: group.cases.map(() => holds) }
  if (group.kind === "fan-out" && group.selective) {
    return {
      select: (message: Json, targets: readonly string[]) => {
        refuseChange(targets)
        return targets.filter((_, i) => i === 0 || holds(message))
      },
    }
  }
  return {}
}
