/** Reads files whose names are untrusted: regular files of a bounded size, inside a folder if one is set. */
export { fileError, insideFolder, isWithin, outsideFolder, readTextFile } from "./read-text-file.ts"
