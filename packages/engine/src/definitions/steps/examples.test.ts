/** The steps files in examples/definitions: their routes, prompts and outputs, and an offline run. */
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import { manualClock, settled } from "../../testing/index.ts"
import { asked, load, play, tryLoad } from "./steps.test-support.ts"

const folder = new URL("../../../../../examples/definitions/", import.meta.url)
// The research needs documents of another package, so it is tested beside its file.
const files = readdirSync(folder).filter((file) => /^steps-(?!research).*\.yaml$/.test(file))
const read = (name: string) => readFileSync(new URL(`steps-${name}.yaml`, folder), "utf8")

const block = (...outputs: readonly (readonly [string, string])[]) =>
  `--- Prior Step Outputs ---\n\n${outputs.map(([id, text]) => `[${id}]:\n${text}\n\n`).join("")}--- End Prior Step Outputs ---\n\n`

describe("with scripted models", () => {
  test("sequential", async () => {
    const { agents, prompts, outputs } = await play(
      read("sequential"),
      { generator: ["Tea!"], translator: ["Tee!"], publisher: ["Published: Tee!"] },
      "Announce tea",
    )
    expect(agents).toEqual(["generator", "translator", "publisher"])
    const gen = ["generator (agent: generator)", "Tea!"] as const
    expect(prompts).toEqual([
      "Announce tea",
      `${block(gen)}Announce tea`,
      `${block(gen, ["translator (agent: translator)", "Tee!"])}Announce tea`,
    ])
    expect(outputs).toEqual(["Published: Tee!"])
  })

  test("loop", async () => {
    const { agents, prompts, outputs } = await play(
      read("loop"),
      {
        generator: ["Tea!"],
        translator: ["Te!", "Tee!"],
        qa_agent: [
          { json: { is_approved: false, remarks: "a letter is missing" } },
          { json: { is_approved: true, remarks: "" } },
        ],
        publisher: ["Published: Tee!"],
      },
      "Announce tea",
    )
    expect(agents).toEqual(["generator", "translator", "qa_agent", "translator", "qa_agent", "publisher"])
    expect(prompts[3]).toBe(
      `${block(
        ["gen (agent: generator)", "Tea!"],
        ["trans (agent: translator)", "Te!"],
        ["qa (agent: qa_agent)", '{"is_approved":false,"remarks":"a letter is missing"}'],
      )}Announce tea`,
    )
    expect(outputs).toEqual(["Published: Tee!"])
  })

  test("parallel", async () => {
    const { prompts, outputs } = await play(
      read("parallel"),
      { generator: ["one", "two"], translator: ["zwei"] },
      "Tea",
    )
    expect(prompts).toEqual([
      "Tea",
      "Tea",
      `${block(["par_gen/gen_1 (agent: generator)", "one"], ["par_gen/gen_2 (agent: generator)", "two"])}Tea`,
    ])
    expect(outputs).toEqual(["zwei"])
  })

  test("nested parallel", async () => {
    const { prompts, systems, outputs } = await play(
      read("nested-parallel"),
      { generator: ["G"], researcher: ["R"], summarizer: ["S"], publisher: ["P"] },
      "Tea",
    )
    expect(prompts[3]).toBe(
      `${block(
        ["outer/generator (agent: generator)", "G"],
        ["outer/inner/researcher (agent: researcher)", "R"],
        ["outer/inner/summarizer (agent: summarizer)", "S"],
      )}Tea`,
    )
    expect(systems[3]).toMatch(/this summary:\nS\n?$/)
    expect(outputs).toEqual(["P"])
  })

  test("retry", async () => {
    const clock = manualClock()
    const late = { error: { code: 429, message: "rate_limit: too many requests", retryable: false } }
    const broken = { error: { code: 503, message: "broken" } }
    const model = scriptedModel({ fetcher: [late, "rain"], writer: ["s1", broken, "s2", "l2"] }, { clock })
    const run = load(
      read("retry").replace(/(writer:\n +model: offline)/, "$1\n    fallback: { retries: -1 }"),
      { model },
    ).workflow.run("Ulm", { clock })
    await settled()
    await clock.advance(1_000)
    await settled()
    await clock.advance(500)
    const { outputs } = await run.result
    expect(asked(model).agents).toEqual(["fetcher", "fetcher", "writer", "writer", "writer", "writer"])
    expect(outputs).toEqual([
      {
        steps: { short: { output: "s2", agent: "writer" }, long: { output: "l2", agent: "writer" } },
        order: ["short", "long"],
      },
    ])
  })

  test("templates", async () => {
    const script = (days: number) => ({
      planner: [{ json: { city: "Ulm", days } }],
      guide: ["Eat here", "See this"],
      critic: ["Fine"],
    })
    const long = await play(read("templates"), script(5), "A week off")
    expect(long.systems.slice(1, 3)).toEqual(
      Array(2).fill("You know Ulm well. The traveller asked for: A week off\n"),
    )
    expect(long.prompts[1]).toMatch(/\n\nWhere to eat in Ulm, for 5 days\.$/)
    expect(long.prompts[3]).toMatch(/\n\nToo much for one trip\? First: Eat here$/)
    expect(long.outputs).toEqual(["Fine"])
    const short = await play(read("templates"), script(2), "A day off")
    expect(short.agents).not.toContain("critic")
    expect(short.outputs).toMatchObject([{ order: ["food", "sights"] }])
  })

  test("human", async () => {
    const model = scriptedModel({ writer: ["Tea!"], publisher: ["Published"] })
    const run = load(read("human"), { model }).workflow.run("Tea")
    const { status, requests } = await run
    expect(status).toBe("waiting")
    expect(requests[0]).toMatchObject({ to: "editors", prompt: "Shall this be published?\n\nTea!\n" })
    await run.respond(requests[0]?.id ?? "", "publish")
    expect((await run.result).outputs).toEqual(["Published"])
  })

  test("map", async () => {
    const { prompts, outputs } = await play(
      read("map"),
      { planner: [{ json: { topics: ["tea", "jam"] } }], researcher: ["T", "J"], editor: ["E"] },
      "Breakfast",
    )
    expect(prompts[1]).toMatch(/\n\nTopic 1: tea$/)
    expect(prompts[2]).toMatch(/\n\nTopic 2: jam$/)
    expect(prompts[3]).toContain(
      "[research/0 (agent: researcher)]:\nT\n\n[research/1 (agent: researcher)]:\nJ\n",
    )
    expect(outputs).toEqual(["E"])
  })
})

test.each(files)("%s has no problems, and runs offline to its end", async (file) => {
  const { workflow, diagnostics } = tryLoad(readFileSync(new URL(file, folder), "utf8"))
  expect(diagnostics).toEqual([])
  const run = workflow?.run("Announce the new tea menu")
  const first = await run
  for (const { id } of first?.requests ?? []) await run?.respond(id, "publish")
  expect((await run?.result)?.status).toBe("completed")
})
