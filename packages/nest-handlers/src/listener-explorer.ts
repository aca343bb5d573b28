import type { MethodMarks } from './method-marks.js';
import {
  MarkedMethods,
  refuseGenerator,
  type ClusterNames,
  type MarkOfCluster,
  type NestModule,
} from './marked-methods.js';
import type { NestParts } from './nest-parts.js';

/** Arguments of a listener's decorator; checked when the listener is attached. */
export interface ListenerMark<Name = unknown> extends MarkOfCluster {
  /** The name of the event. */
  readonly event: Name;
}

/** Adds a listener; `who` is its class, method and module. Throws if no event has this name. */
export type Listen<Name> = (event: Name, listener: (event: unknown) => unknown, who: string) => void;

type Listeners = Readonly<Record<string | symbol, (event: unknown) => unknown>>;

/** Finds the methods of a cluster marked as listeners, and calls them on their events. */
export class ListenerExplorer<Name> {
  private readonly methods: MarkedMethods<ListenerMark<Name>>;

  constructor(
    nest: NestParts,
    private readonly marks: MethodMarks<ListenerMark<Name>>,
    private readonly listen: Listen<Name>,
    cluster?: string,
  ) {
    this.methods = new MarkedMethods(nest, marks, cluster);
  }

  /**
   * Attaches the listeners of all modules or the given ones, once each. Throws what `listen` throws, and the kind's
   * configuration error: a cluster that no module registers, or a listener without a single instance to call.
   */
  attach(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): void {
    for (const [found, { event }] of this.methods.find(clusters, modules)) {
      const { instance, key, name, isSingle } = found;
      refuseGenerator(found, this.marks.kind);
      if (!isSingle) {
        throw this.marks.kind.configError(
          `${name} listens to events, but its class is request-scoped, transient, or depends on something that is: ` +
            'expected a singleton, since an event belongs to no request',
        );
      }
      // Looked up on each event, so that a method installed later, for example a spy, is called.
      this.listen(event, (told) => (instance as Listeners)[key]!(told), name);
    }
  }
}
