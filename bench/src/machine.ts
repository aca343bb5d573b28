import { arch, cpus, release, totalmem, type } from 'node:os';

/** The machine that the figures depend on. */
export function machine(): string {
  const cores = cpus();
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  return `Node ${process.version}, ${type()} ${release()} ${arch()}, ${cores.length} cores of ${cores[0]?.model.trim() ?? 'unknown make'}, ${memory} GiB`;
}
