/** The memory store. */
export { memoryStore } from "./memory.ts"
export { memorySlots } from "./memory-slots.ts"
