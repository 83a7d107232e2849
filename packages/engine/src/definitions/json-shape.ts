/** The schema of any JSON. Files share it, because `z.json()` creates ten schemas each time, and each start waits for them. */
import { z } from "zod"

export const jsonShape = z.json()
