/** People see the nodes that an author wrote: in diagrams, while a run executes, and afterwards, whatever the pattern. */
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { agent } from "@superstep/engine/agents"
import { guardedStep, isInternal } from "@superstep/engine/core"
import { toDot, toMermaid, toText } from "@superstep/engine/diagrams"
import { scriptedModel } from "@superstep/engine/models"
import { concurrent, groupChat, handoff, magentic, sequential, type Team } from "@superstep/engine/patterns"
import { describe, expect, test } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const AGENTS =
  "agents: { a: { model: offline }, b: { model: offline }, c: { model: offline }, boss: { model: offline } }"
const file = (...steps: readonly string[]) =>
  `${AGENTS}\nworkflow:\n${steps.map((step) => `  - ${step}\n`).join("")}`
const team = (mode: string, more = "") => `{ id: crew, type: team, mode: ${mode}, agents: [a, b, c]${more} }`
const step = (id: string, more = "") => `{ id: ${id}, type: agent, name: a${more} }`

const FILES: Readonly<Record<string, string>> = {
  "a group chat in turn": file(team("group_chat", ", max_rounds: 4")),
  "a group chat with a manager": file(team("group_chat", ", manager: boss, max_rounds: 2")),
  "a hand-off": file(team("handoff")),
  "a magentic team": file(team("magentic", ", manager: boss, max_rounds: 2, plan_review: true")),
  "a team one after the other": file("{ id: crew, type: team, mode: sequential, agents: [a, b, a] }"),
  "a team at the same time": file(team("concurrent")),
  "a team at the same time, with an agent that combines": file(team("concurrent", ", aggregate: boss")),
  "a parallel block": file(
    `{ id: par, type: parallel, steps: [${step("x")}, ${step("y", ', when: "true"')}, { id: in, type: parallel, steps: [${step("p")}, ${step("q")}] }] }`,
  ),
  "a map": file(
    `{ id: each, type: map, over: "[1, 2]", steps: [${step("x")}, ${step("y", ', when: "false"')}] }`,
  ),
  "a loop": file(step("x"), '{ id: again, type: goto, goto: x, when: "$steps.y.output == 1" }', step("y")),
  conditions: file(
    `{ id: if, type: condition, condition: "true", true: [${step("x")}] }`,
    step("y", ', when: "false"'),
    step("z", ", on_error: continue"),
  ),
  "a question": file("{ id: ask, type: human, prompt: Well? }", step("x")),
  research: file(
    "{ id: find, type: research, mode: iterative, model: offline, tools: [{ type: documents, paths: [tea.md] }], budget: { tokens: 50000, iterations: 1 } }",
  ),
}

/** The ids of the nodes that the author did not write, in a graph and those inside of it. */
function internalIds(graph: GraphJson): string[] {
  const ids = new Set(graph.nodes.map(({ id }) => id))
  return graph.nodes.flatMap((node) => [
    ...(isInternal(node as never) || ids.has(guardedStep(node as never) ?? "") ? [node.id] : []),
    ...(node.nested === undefined ? [] : internalIds(node.nested)),
  ])
}

interface GraphJson {
  readonly nodes: readonly { readonly id: string; readonly nested?: GraphJson }[]
}

function expectNoInternal(text: string, ids: readonly string[] = []): void {
  const words = text.split(/[\s"'()[\]{}<>|,;:·→]+/)
  // Of an event, `node#task`.
  const shown = new Set([...words, ...words.map((word) => word.replace(/#\d+$/, ""))])
  expect([...shown].filter((word) => ids.includes(word) || /^#[a-z]|\/\*/.test(word))).toEqual([])
}

/** Teams name their nodes after what these do, and no author of these files uses the words. */
const TEAM_WORDS = /\b(chair|desk|begin|aggregate)\b/

/** The content of messages is data of the run, whatever is in it. */
const withoutData = (events: string) => events.replace(/(^| )[[{].*$/gm, "")

const svgText = (svg: string) => svg.replace(/<style[\s\S]*?<\/style>/g, "").replace(/<[^>]*>/g, "\n")

describe("of", () => {
  test.each(Object.entries(FILES))(
    "%s, nothing that people read names a node that they did not write",
    async (_, text) => {
      const io = testIo({
        files: { "flow.yaml": text, "tea.md": "# Tea\n\nTea is a drink." },
        env: { USER: "ada" },
      })
      const printed = async (...argv: readonly string[]) => {
        const { stdout, stderr } = await superstep(argv, io)
        const all = `${stdout}\n${stderr}`
        const text = argv[0] === "runs" ? withoutData(all) : all
        expect(text).not.toMatch(TEAM_WORDS)
        return text
      }
      const ids = internalIds(JSON.parse((await superstep(["graph", "flow.yaml", "--json"], io)).stdout))
      for (const format of ["mermaid", "dot", "ascii"])
        expectNoInternal(await printed("graph", "flow.yaml", "--format", format), ids)
      expectNoInternal(svgText(await printed("graph", "flow.yaml", "--format", "svg")), ids)
      const run = await printed("run", "flow.yaml", "Hi", "--run-id", "r")
      expect(run).toContain("run r")
      expectNoInternal(run, ids)
      for (const command of ["show", "events", "list"])
        expectNoInternal(await printed("runs", command, ...(command === "list" ? [] : ["r"])), ids)
      expectNoInternal(await printed("inbox"), ids)
      const events = await printed("runs", "events", "r")
      const tasks = new Set(
        [...events.matchAll(/task\.started +[^>\n]*?#(\d+)/g)].map(([, task]) => task as string),
      )
      for (const task of tasks) expectNoInternal(await printed("runs", "why", "r", task), ids)
      expectNoInternal(await printed("respond", "r", "yes"), ids)
      expectNoInternal(await printed("runs", "show", "r"), ids)
    },
  )

  const model = scriptedModel([{ text: "x", repeat: true }])
  const [a, b, c, d, boss] = ["a", "b", "c", "d", "boss"].map((name) => agent({ name, model })) as [
    never,
    never,
    never,
    never,
    never,
  ]
  const teams: readonly (readonly [string, Team<never>])[] = [
    ["a chosen speaker", groupChat({ agents: [a, b], select: () => "a" })],
    ["one speaker", groupChat({ agents: [a] })],
    ["a manager of one", groupChat({ agents: [a], manager: boss })],
    ["hand-offs along routes", handoff({ agents: [a, b, c], routes: { a: ["b"], b: ["c"] } })],
    ["hand-offs of many", handoff({ agents: [a, b, c, d], autonomous: { turns: 2 } })],
    ["a magentic team", magentic({ manager: boss, agents: [a, b] })],
    ["a chain", sequential([a, b, a])],
    ["an aggregate", concurrent([a, b], { aggregate: () => "both" })],
  ] as never

  test.each(teams)("%s, diagrams name no added node", (_, workflow) => {
    for (const text of [toText(workflow), toMermaid(workflow), toDot(workflow)]) {
      expectNoInternal(text)
      expect(text).not.toMatch(TEAM_WORDS)
    }
  })

  const folder = fileURLToPath(new URL("../../../../../examples/definitions/", import.meta.url))
  const examples = readdirSync(folder).filter((name) => /\.(yaml|json)$/.test(name))
  test.each(examples)("the example %s, diagrams name no added node", async (name) => {
    const { code, stdout } = await superstep(["graph", `${folder}${name}`, "--lenient", "--json"])
    expect(code).toBe(0)
    const ids = internalIds(JSON.parse(stdout))
    for (const format of ["mermaid", "dot", "ascii"])
      expectNoInternal(
        (await superstep(["graph", `${folder}${name}`, "--lenient", "--format", format])).stdout,
        ids,
      )
  })
})

test("a diagram of a team shows who speaks to whom, and where the team ends", () => {
  const model = scriptedModel([{ text: "x", repeat: true }])
  const [a, b, c] = ["a", "b", "c"].map((name) => agent({ name, model })) as [never, never, never]
  const arrows = (workflow: Team) => {
    const text = toMermaid(workflow)
    const names = new Map([...text.matchAll(/^ +(n\d+)[([{]+"([^"]+)"/gm)].map(([, id, name]) => [id, name]))
    return [...text.matchAll(/^ +(n\d+) -\.?->(?:\|"([^"]*)"\|)? (n\d+)$/gm)]
      .map(([, from, label, to]) => `${names.get(from)} ${label ?? "to"} ${names.get(to)}`)
      .filter((arrow) => !arrow.startsWith("limit"))
      .toSorted()
  }
  expect(arrows(groupChat({ agents: [a, b] }))).toEqual(
    ["start to a", "a to b", "b to a", "a END output", "b END output"].toSorted(),
  )
  expect(arrows(handoff({ agents: [a, b, c], start: "b", routes: { b: ["a", "c"], a: ["b"] } }))).toEqual(
    [
      "start to b",
      ...["b hand-off a", "b hand-off c", "a hand-off b"],
      ...["a", "b", "c"].flatMap((name) => [`${name} asks the user ${name}`, `${name} END output`]),
    ].toSorted(),
  )
  expect(arrows(groupChat({ agents: [a, b], select: () => "a" }))).toEqual(
    [
      ...["start to next speaker", "next speaker END output"],
      ...["a", "b"].flatMap((name) => [`next speaker to ${name}`, `${name} to next speaker`]),
    ].toSorted(),
  )
  expect(arrows(groupChat({ agents: [a, b], manager: c }))).toEqual(
    [
      ...["start to c", "c END output"],
      ...["a", "b"].flatMap((name) => [`c to ${name}`, `${name} to c`]),
    ].toSorted(),
  )
})

test("the steps of a run are the visits of the author's nodes, also in a list", async () => {
  const io = testIo({ files: { "flow.yaml": FILES["a group chat in turn"] as string } })
  await superstep(["run", "flow.yaml", "Hi", "--run-id", "r", "--quiet"], io)
  // The team, and four turns.
  expect((await superstep(["runs", "show", "r"], io)).stdout).toContain("5 steps in")
  expect((await superstep(["runs", "list"], io)).stdout).toMatch(/^r +flow +completed +\S+ +5 /m)
  expect(JSON.parse((await superstep(["runs", "show", "r", "--json"], io)).stdout)).toMatchObject({
    steps: 5,
  })
  expect((await superstep(["runs", "show", "r", "--verbose"], io)).stdout).toContain("#chair")
})
