/** The slots of a tube in one process, as its heartbeat says. */
interface Load {
  readonly tube: string;
  readonly concurrency: number;
  readonly running: number;
}

/** The loads of a tube in all processes, their slots, and how many of these are busy. Full processes watch no node for the tube. */
export function slotsIn<L extends Load>(
  processes: readonly { readonly tubes: readonly L[] }[],
  tube: string,
) {
  const loads = processes.flatMap(({ tubes }) => tubes.filter((load) => load.tube === tube));
  const sum = (name: 'running' | 'concurrency') => loads.reduce((total, load) => total + load[name], 0);
  const [running, slots] = [sum('running'), sum('concurrency')];
  return { loads, running, slots, areFull: slots > 0 && running >= slots };
}
