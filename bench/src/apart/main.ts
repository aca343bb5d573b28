// Runs one task of a module, tells its result, and ends when it is let go. It also ends when the process that started it ends.
import { inspect } from 'node:util';
import type { Apart, ApartArguments, ApartReport } from '../apart.js';

process.on('disconnect', () => process.exit());
const { module, name, given } = JSON.parse(process.argv[2]!) as ApartArguments;
let report: ApartReport;
try {
  const loaded = (await import(module)) as Readonly<Record<string, Apart<unknown[], unknown>>>;
  report = { result: await loaded[name]!.here(...given) };
} catch (error) {
  report = { error: { text: inspect(error), code: (error as { readonly code?: unknown }).code } };
}
process.send!(report);
