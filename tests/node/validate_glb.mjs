// Prints what the Khronos validator says of each file, as one JSON list.
import { readFileSync } from "node:fs";
import { validateBytes } from "gltf-validator";

const reports = [];
for (const path of process.argv.slice(2)) {
  const { issues, info } = await validateBytes(new Uint8Array(readFileSync(path)));
  reports.push({ issues, info });
}
console.log(JSON.stringify(reports));
