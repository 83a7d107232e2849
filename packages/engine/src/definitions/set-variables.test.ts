// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the variables of a definition.
import { describe, expect, test } from "vitest"
import type { Json } from "../core/index.ts"
import { scriptedModel } from "../models/index.ts"
import type { LoadOptions } from "./definition.ts"
import { loadDefinition } from "./load.ts"

const TEXT = `agents:
  writer: { model: offline, instruction: "Write in a \${tone} tone. Keep \${other} and $\${tone}." }
workflow:
  - { type: agent, name: writer, prompt: "About \${topic:-nothing}, \${tone}" }
`

function load(text: string, options: LoadOptions) {
  return loadDefinition({ file: "test.yaml", text }, { env: {}, ...options })
}

describe("${key} in a steps file", () => {
  test("is replaced by the value of --set, in instructions and prompts; other names stay", async () => {
    const model = scriptedModel({ writer: ["Done."] })
    const { definition, diagnostics } = load(TEXT, {
      variables: { tone: "kind", topic: "tea" },
      model: () => model,
    })
    expect(diagnostics).toEqual([])
    await definition?.workflow.run("go")
    const asked = JSON.stringify(model.calls[0])
    expect(asked).toContain("Write in a kind tone. Keep ${other} and ${tone}.")
    expect(asked).toContain("About tea, kind")
  })

  test("is replaced in steps of other types and in settings of toolsets", () => {
    const text = `agents:
  a:
    model: offline
    toolsets: [{ type: api, api_config: { name: get, endpoint: "https://\${host}/x" } }]
workflow:
  - { type: human, prompt: "Publish \${what}?" }
`
    const { definition } = load(text, { variables: { host: "api.example.com", what: "it" } })
    const plan = JSON.stringify(definition?.plan)
    expect(plan).toContain("https://api.example.com/x")
    expect(plan).toContain("Publish it?")
    expect(plan).not.toContain("${")
  })

  test("leaves a file without values, and shell syntax, unchanged", () => {
    const text = `agents:
  a:
    model: offline
    toolsets: [{ type: script, shell: { go: { cmd: "echo \${HOME} $\${PATH}" } } }]
workflow: [{ type: agent, name: a }]
`
    for (const variables of [{}, { tone: "kind" }] as Record<string, Json>[]) {
      expect(JSON.stringify(load(text, { variables }).definition?.plan)).toContain("echo ${HOME} $${PATH}")
    }
  })

  test("never becomes a template: a value with {{ }} or the environment in it is refused", () => {
    for (const tone of ["{{ $env.KEY }}", "${env.KEY}", "$env.KEY"]) {
      const { definition, diagnostics } = load(TEXT, { variables: { tone } })
      expect(definition).toBeUndefined()
      expect(diagnostics[0]).toMatchObject({ code: "VARIABLE_INVALID", severity: "error" })
    }
  })

  test("shows a reference instead of a secret, with a warning", () => {
    const { definition, diagnostics } = load(TEXT, { secrets: { tone: "s3cret" } })
    expect(diagnostics[0]).toMatchObject({ code: "SECRET_NOT_SHOWN", severity: "warning" })
    const plan = JSON.stringify(definition?.plan)
    expect(plan).toContain("[secret:tone]")
    expect(plan).not.toContain("s3cret")
  })
})

test("${env.X} in base_url and token_key of models and providers reaches the model unchanged", () => {
  const text = `providers:
  mine: { base_url: "https://\${env.HOST}/v1", token_key: "\${env.MY_KEY}" }
models:
  m: { provider: openai, model: x, base_url: "https://\${env.HOST}/v1", token_key: "\${env.MY_KEY}" }
agents:
  a: { model: m }
  b: { model: mine/x }
workflow: [{ type: agent, name: a }, { type: agent, name: b }]
`
  const models: unknown[] = []
  const { diagnostics } = load(text, {
    model: (_, model) => {
      models.push(model)
      return undefined
    },
  })
  expect(diagnostics).toEqual([])
  const where = { model: "x", baseUrl: "https://${env.HOST}/v1", tokenKey: "MY_KEY" }
  expect(models).toEqual([
    { provider: "openai", ...where },
    { provider: "openai-compatible", ...where },
  ])
  const { diagnostics: refused } = load(text, { trust: "none" })
  expect(refused.filter(({ code }) => code === "UNTRUSTED").length).toBeGreaterThanOrEqual(4)
})
