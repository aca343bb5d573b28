import type { Cluster } from '../cluster/cluster.js';

/** A beanstalkd of the cluster, as this process sees it. */
export interface NodeView {
  /** `host:port`, as in the option `beanstalks`. */
  readonly endpoint: string;
  /** Whether it stores jobs and lets this process reserve them. */
  readonly up: boolean;
  /** Why it cannot; absent if it can. */
  readonly reason?: string;
}

/** Shows what waits and who runs it. It changes nothing, and nothing that it shows decides about a job. Inject it. */
export abstract class DqInspector {
  /** The nodes, in the order of the option `beanstalks`. Never rejects. */
  abstract nodes(): Promise<NodeView[]>;
}

/** What the inspector of a cluster looks at. */
export interface InspectorParts {
  readonly cluster: Cluster;
}

/** The inspector of one cluster. */
export class ClusterInspector extends DqInspector {
  constructor(private readonly parts: InspectorParts) {
    super();
  }

  override nodes(): Promise<NodeView[]> {
    const views = this.parts.cluster.nodes.map(({ endpoint, reason }): NodeView =>
      reason === 'up' ? { endpoint, up: true } : { endpoint, up: false, reason },
    );
    return Promise.resolve(views);
  }
}
