import { counted, instant, type Line, styled } from 'nest-handlers/cli';
import { awaySince, type ProcessView } from '../operate/processes.js';
import type { ClusterInspector } from '../operate/inspector.js';
import type { NodeView } from '../operate/node-view.js';

/** Nodes named in the line. */
const MAX_NAMED = 3;

/**
 * Resolves with the nodes. Since when one is down is what processes of the application say: this command has only just started.
 * Never rejects. `processes`: undefined if unknown.
 */
export async function viewsOfNodes(
  inspector: Pick<ClusterInspector, 'nodes'>,
  processes: Promise<readonly ProcessView[] | undefined>,
): Promise<NodeView[]> {
  const [views, known = []] = await Promise.all([inspector.nodes(), processes]);
  return views.map(({ since: _own, ...view }) => {
    if (view.up) return view;
    const since = awaySince(known, view.endpoint);
    // It was asked: a frozen server accepts a connection, and then says nothing.
    const reason = view.reason === 'not connected yet' ? 'no answer yet' : view.reason;
    return { ...view, ...(reason !== undefined && { reason }), ...(since && { since }) };
  });
}

/** The line above an answer about which nodes are down, since when, what that means, and what to do; none if all are up. */
export function nodesDownLine(views: readonly NodeView[], minWritten: number, now: number): Line[] {
  const down = views.filter(({ up }) => !up);
  if (down.length === 0) return [];
  const up = views.length - down.length;
  const named = down
    .slice(0, MAX_NAMED)
    .map(({ endpoint, since }) => `${endpoint}${since ? ` since ${instant(since, now)}` : ''}`);
  const more = down.length > MAX_NAMED ? `, and ${down.length - MAX_NAMED} more` : '';
  const [it, its] = down.length > 1 ? ['them', 'their'] : ['it', 'its'];
  const fact = `${down.length} of ${counted(views.length, 'node')} down: ${named.join(', ')}${more}`;
  if (up === 0) return [styled('red', `${fact} → bring ${it} back: nothing runs, and adds fail`)];
  if (up < minWritten)
    return [styled('red', `${fact} → bring ${it} back: adds fail until ${minWritten} are up; jobs run late`)];
  return [styled('yellow', `${fact} → bring ${it} back: ${its} jobs run late, from other nodes`)];
}
