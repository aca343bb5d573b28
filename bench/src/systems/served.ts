import { fileURLToPath } from 'node:url';
import { startNestDqServer, type NestDqServer } from 'test-servers';

const NEST_DQ = fileURLToPath(new URL('../cli.js', import.meta.resolve('nest-dq/embedded')));

/** `nest-dq serve` in a process of its own, its jobs in memory, or in a folder, synced before each answer. */
export function startServed(keeps: 'memory' | 'folder'): Promise<NestDqServer> {
  return startNestDqServer(NEST_DQ, { folder: keeps === 'folder' });
}
