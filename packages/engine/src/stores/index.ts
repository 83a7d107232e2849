export { memoryStore } from "./memory.ts"
