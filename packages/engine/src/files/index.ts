/** Reads files that somebody else names: regular files of a bounded size, inside a folder where one is given. */
export { insideFolder } from "./inside-folder.ts"
export { fileError, outsideFolder, readTextFile } from "./read-text-file.ts"
