"""The belief of tree searches: a seat's belief and the memory of the search's guide."""

from __future__ import annotations

from hanabi_search_plugin.core.belief import Belief, WrappedBelief
from hanabi_search_plugin.core.game import Event, View
from hanabi_search_plugin.core.policy import Guide, Memory, observed, started


class Guided(WrappedBelief):
    """The belief ``inner``, and the memory of ``guide``, updated by every event.

    With ``evidence=False`` the others' moves are no evidence of what is hidden.
    """

    def __init__(
        self, inner: Belief, guide: Guide | None, guide_memory: Memory, evidence: bool
    ) -> None:
        """``start`` makes the first. ``guide_memory`` is one row."""
        super().__init__(inner)
        self.guide = guide
        self.guide_memory = guide_memory
        self.evidence = evidence

    @classmethod
    def start(cls, inner: Belief, guide: Guide | None, evidence: bool) -> Guided:
        """Wrap ``inner`` at the first decision of a game, before any event."""
        return cls(inner, guide, None if guide is None else started(guide, inner.view), evidence)

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> Guided:
        inner = self.inner.update(event, view, by_blueprint=by_blueprint and self.evidence)
        memory = self.guide_memory
        if self.guide is not None:
            memory = observed(self.guide, view, event.seen_by(self.seat, self.game), memory)
        return Guided(inner, self.guide, memory, self.evidence)
