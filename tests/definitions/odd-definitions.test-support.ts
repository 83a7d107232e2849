/** Unlikely but valid definitions. Each runs offline. */

const NAMES = `
name: 'new "thing" \`\${x}\` */ // \\'
description: "two\\nlines \\u2028 and \\0 a zero"
agents:
  'say "hi"': { model: offline, instruction: 'Say "hi" to \${USER} and \`me\`: {{ $input }}' }
  Größe: { model: offline, sub_agents: [日本, class], description: "'" }
  日本: { model: offline, handoffs: [Größe] }
  class: { model: offline, sub_agents: [class] }
  default: { model: offline, instruction: "one\\n\\\\two \${three} \`four\`" }
  🍵: { model: offline }
  🫖: { model: offline }
  constructor: { model: offline }
  agent: { model: offline, instruction: "{{ $steps.constructor.output }}" }
  workflow: { model: offline }
  steps: { model: offline }
  end: { model: offline }
  undefined: { model: offline }
  "1": { model: offline }
workflow:
${["'say \"hi\"'", "Größe", "日本", "class", "default", "🍵", "🫖", "constructor", "agent", "workflow"]
  .map((name) => `  - { type: agent, name: ${name} }`)
  .join("\n")}
  - { id: 'it''s "odd"', type: agent, name: steps, when: "true" }
  - { id: await, type: agent, name: end }
  - { type: agent, name: undefined }
  - { type: agent, name: "1", prompt: "{{ $steps['it\\\\'s \\"odd\\"'].output }}" }
  - { id: toString, type: agent, name: "1" }
`

const KINDS = `
agents:
  a: { model: offline, permissions: { allow: [think] }, toolsets: [{ type: think }] }
  b:
    model: [MODEL]
    add_date: true
    add_environment_info: true
    max_iterations: 3
    num_history_items: 4
    fallback: { models: [offline], retries: 1 }
    sub_agents: [a, c]
    handoffs: [c]
    structured_output:
      name: "null"
      description: "true"
      schema: { type: object, properties: { true: { type: string, const: "true" }, "a-b": { type: string } } }
  c: { model: own, sub_agents: [b] }
models:
  own: { provider: offline, model: x, temperature: 0, provider_opts: { "x-y": "x-y", null: null } }
workflow:
  max_loop_iterations: 4
  steps:
    - { id: first, type: agent, name: a, retry: { max_attempts: 2, on: [timeout, "x\\ny"] }, timeout: 1.5m }
    - id: both
      type: parallel
      on_error: continue
      timeout: 1h
      steps:
        - { type: agent, name: b }
        - type: condition
          condition: "{{ $steps.first.output == 'x' }}"
          true: [{ type: agent, name: a }]
          false:
            - id: each
              type: map
              over: "['x', 'y']"
              concurrency: 1
              on_error: continue
              steps:
                - { type: tool, tool: think, agent: a, args: { thought: "{{ $item }}" } }
                - { type: agent, name: a, when: $index == 0 }
    - { type: map, over: "[1, 2]", step: { type: tool, tool: think, toolset: { type: think }, args: { thought: "t-t" } } }
    - { type: team, mode: sequential, agents: [a, c], timeout: 60 }
    - { type: workflow, file: odd-names.yaml, on_error: continue }
    - { id: ask, type: human, prompt: "Well?\\n", choices: [publish, null, true, 1.5], default: null, timeout: 1h }
    - { goto: first, when: "size($steps.first.output) < 0" }
    - { type: condition, condition: $steps.later.output.missing, false: [{ goto: last }] }
    - { id: later, type: agent, name: a }
    - { id: last, type: agent, name: a, on_error: continue }
`.replace("[MODEL]", "offline")

/** A block in a block in a block. */
function deep(depth: number): string {
  const leaf = { type: "agent", name: "a" }
  let step: object = leaf
  for (let i = depth; i > 0; i--)
    step = { id: `level ${i}`, type: "parallel", steps: [leaf, step].slice(i % 2) }
  return JSON.stringify({ agents: { a: { model: "offline" } }, workflow: [step] })
}

export const ODD: ReadonlyMap<string, string> = new Map([
  ["odd-names.yaml", NAMES],
  ["odd-kinds.yaml", KINDS],
  ["odd-deep.json", deep(10)],
])
