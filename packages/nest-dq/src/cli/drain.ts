import { clusterCommand } from './cluster.js';
import { operator } from './operator.js';

const operands = ['ENDPOINT'];
const STATUS = '0 it is so now, also if it was so before, 1 Redis is away';

export const nodeDrain = clusterCommand({
  name: 'node drain',
  operands,
  summary: 'Gives a node no new copies, until `node undrain`.',
  about: 'All processes know it within 5 s. Its copies stay there, and their jobs run.',
  flags: {},
  status: STATUS,
  examples: ['nest-dq node drain "${DQ_BEANSTALKS%%,*}"'],
  async run(args, { runtime }) {
    const node = args.required('ENDPOINT');
    const changed = await runtime.control.drainNode(node, { by: operator() });
    return { json: { node, drained: true, changed }, text: `${node}: ${changed ? 'is' : 'was'} drained` };
  },
});

export const nodeUndrain = clusterCommand({
  name: 'node undrain',
  operands,
  summary: 'Lets a node get copies again.',
  about: 'All processes know it within 5 s.',
  flags: {},
  status: STATUS,
  examples: ['nest-dq node undrain "${DQ_BEANSTALKS%%,*}"'],
  async run(args, { runtime }) {
    const node = args.required('ENDPOINT');
    const changed = await runtime.control.undrainNode(node, { by: operator() });
    const text = `${node}: ${changed ? 'gets copies again' : 'was not drained'}`;
    return { json: { node, drained: false, changed }, text };
  },
});
