// npm run proofs: writes docs/proofs.md from the lists in this folder.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './jest-run.js';
import { proofsPage } from './proofs-page.js';
import { RULES } from './rules.js';

writeFileSync(join(ROOT, 'docs/proofs.md'), proofsPage(RULES));
