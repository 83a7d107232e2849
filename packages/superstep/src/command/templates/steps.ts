/** Agents and steps in one YAML file. */
import { type Template, withCommonFiles } from "./template.ts"

export const steps: Template = {
  name: "steps",
  summary: "agents and steps in one YAML file",
  next: [
    "superstep validate article.yaml",
    "superstep graph article.yaml",
    'superstep run article.yaml "Why tea is drunk hot"',
  ],
  files: (project) => withCommonFiles({ "article.yaml": article(project.model) }, project, steps),
}

const article = (
  model: string,
) => `# An article: a draft, two opinions on it at the same time, and the final text.
# Every agent is told what the steps before it gave, and then what you asked for.
agents:
  writer:
    model: ${model}
    description: Writes the first draft.
    instruction: |
      Write a short article about what you are asked for: a title, then three paragraphs.

  fact_checker:
    model: ${model}
    description: Looks for mistakes.
    instruction: |
      List every statement of the draft that may be wrong, each with the reason.

  critic:
    model: ${model}
    description: Judges the style.
    instruction: |
      Say in three sentences what would make the draft better to read.

  editor:
    model: ${model}
    description: Makes the final text.
    instruction: |
      Rewrite this draft. Mend what the fact checker found, and follow the critic where that helps.

      The draft: {{ $steps.draft.output }}

workflow:
  - id: draft
    type: agent
    name: writer
    retry: { max_attempts: 2, backoff: exponential }

  - id: opinions
    type: parallel
    steps:
      - { id: facts, type: agent, name: fact_checker }
      - { id: style, type: agent, name: critic }

  - id: final
    type: agent
    name: editor
`
