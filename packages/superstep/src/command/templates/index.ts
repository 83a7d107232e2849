/** The projects that `superstep init` makes. */
import { chat } from "./chat.ts"
import { graph } from "./graph.ts"
import { steps } from "./steps.ts"
import type { Template } from "./template.ts"
import { typescript } from "./typescript.ts"

export type { Template } from "./template.ts"

export const TEMPLATES: readonly Template[] = [steps, graph, typescript, chat]
