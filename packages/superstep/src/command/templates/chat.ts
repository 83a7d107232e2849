/** One agent to talk to. */
import { type Template, withCommonFiles } from "./template.ts"

export const chat: Template = {
  name: "chat",
  summary: "one agent to talk to",
  next: [
    "superstep validate assistant.yaml",
    'superstep run assistant.yaml "What can you do?"',
    "superstep chat assistant.yaml",
  ],
  files: (project) => withCommonFiles({ "assistant.yaml": assistant(project.model) }, project, chat),
}

const assistant = (model: string) => `# An agent to talk to, with a list of things to do.
agents:
  assistant:
    model: ${model}
    description: Helps with plans.
    welcome_message: Hello. What do you want to get done?
    instruction: |
      You help people plan. Ask when something is not clear. Keep a list of what is to be done, and answer in a few
      sentences.
    toolsets:
      - type: todo
    commands:
      plan: Make a plan for today out of what is on the list.
`
