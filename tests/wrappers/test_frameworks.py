"""Small agents, trained for seconds by RL libraries, as blueprints of searches."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import (
    HanabiGame,
    Lbs,
    Sparta,
    evaluate,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import History, View
from hanabi_search_plugin.core.policy import Policy, Value, memory_from
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.testing import check_agent, check_policy
from hanabi_search_plugin.wrappers.gymnasium import ID, MaskInObservation

SMALL: dict[str, Any] = {"colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 4}
SMALL |= {"bomb": "keep"}
GAME = HanabiGame(players=2, **SMALL)
PARTNER = load_policy("cautious", GAME)
SIZE = GAME.deal(np.random.default_rng(0), 1).view(0).observation("openspiel").shape[1]
ACTIONS = GAME.num_actions

Chances = Callable[[Any, Any], Any]  # observations [B, N], masks [B, A]: the library's own answer


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_env(keys: tuple[str, str] | None = None) -> Any:
    env = gymnasium.make(ID, partners=PARTNER, **SMALL)
    env = gymnasium.wrappers.DtypeObservation(env, np.float32)
    return env if keys is None else MaskInObservation(env, keys)


def scores(policy: Policy) -> Any:
    return evaluate(GAME, (policy, PARTNER), games=300, seed=1).scores


def positions() -> tuple[Any, Any, View]:
    """Observations [B, N] and masks of player 0 in the middle of games, and its view."""
    worlds = GAME.deal(np.random.default_rng(5), 30)
    rng = np.random.default_rng(6)
    for _ in range(4):
        worlds.step(np.array([rng.choice(np.flatnonzero(row)) for row in worlds.legal]))
    view = worlds.select(np.flatnonzero(worlds.current_player == 0)).view(0)
    assert len(view) > 10
    return view.observation("openspiel").astype(np.float32), view.legal, view


def require_trained(before: Any, after: Policy, loaded: Policy, chances: Chances) -> None:
    """It learned; what was loaded plays as the library says; it is a policy; search helps it."""
    gain = scores(after) - before
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))
    np.testing.assert_array_equal(scores(loaded), scores(after))
    obs, mask, view = positions()
    said = chances(obs, mask)
    ours = loaded.probabilities(view, mask, loaded.start(view))
    np.testing.assert_allclose(ours, said / said.sum(axis=1, keepdims=True), atol=1e-5)
    check_policy(GAME, loaded)
    check_agent(GAME, loaded)
    blueprint = (loaded, PARTNER)
    agent = upgrade(blueprint, GAME, search=Sparta(rollouts=400), epsilon=0.01)
    found = evaluate(GAME, (agent, PARTNER), games=25, seed=2, baseline=blueprint).to_dict()
    assert found["gain"] > 0


def require_remembers(policy: Policy, stepped: Callable[[list[Any]], Any]) -> None:
    """A recurrent policy is told of its own turns, as ``stepped`` is."""
    worlds = GAME.deal(np.random.default_rng(3), 1)
    history = History(0, (worlds.view(0),))
    rng = np.random.default_rng(4)
    turns: list[Any] = []
    while len(turns) < 3:
        view = worlds.view(0)
        if worlds.current_player[0] == 0:
            turns.append(view.observation("openspiel").astype(np.float32))
            ours = policy.probabilities(view, view.legal, memory_from(policy, history))
            said = stepped(turns) * view.legal
            np.testing.assert_allclose(ours, said / said.sum(), atol=1e-5)
        event = worlds.step(rng.choice(np.flatnonzero(worlds.legal[0]), size=1))
        history = history.append(event.seen_by(0, GAME), worlds.view(0))


def require_values(policy: Policy, said: Any) -> None:
    """Its values at ``positions()`` are what the library says, and LBS cuts rollouts by them."""
    _, _, view = positions()
    assert isinstance(policy, Value) and policy.combine == "mover"
    np.testing.assert_allclose(policy.value(view, policy.start(view)), said, atol=1e-5)
    assert policy.value(view.select(np.arange(0)), None).shape == (0,)
    require_cuts(policy)


def require_cuts(policy: Policy) -> None:
    """LBS cuts rollouts by the policy's values."""
    search = Lbs(depth=3, rollouts=60, min_rollouts=3, threshold=0.0)
    agent = upgrade(policy, GAME, search, epsilon=0.1)
    found = evaluate(GAME, (agent, policy), games=2, seed=2).to_dict()
    assert found["rollouts_per_game"] > 100
    check_policy(GAME, policy, games=2)


# ------------------------------------------------------------------------- Stable-Baselines3


def test_maskable_ppo(tmp_path: Path) -> None:
    sb3 = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    settings = {"n_steps": 512, "batch_size": 128, "learning_rate": 2e-3, "seed": 0}
    model = sb3.MaskablePPO("MlpPolicy", make_env(), **settings)
    before = scores(as_policy(model, GAME))
    model.learn(3000)
    model.save(tmp_path / "model")
    loaded = sb3.MaskablePPO.load(tmp_path / "model")

    def chances(obs: Any, mask: Any) -> Any:
        given, _ = loaded.policy.obs_to_tensor(obs)
        return loaded.policy.get_distribution(given, mask).distribution.probs.detach().numpy()

    require_trained(before, as_policy(model, GAME), as_policy(loaded, GAME), chances)


def test_stable_baselines3_makes_it_by_name() -> None:
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    from stable_baselines3.common.env_util import make_vec_env

    import hanabi_search_plugin.wrappers.gymnasium as hanabi

    env = make_vec_env(hanabi.ID, 2, seed=0, env_kwargs={"partners": "smartbot"})
    assert env.reset().shape == (2, *env.observation_space.shape)
    frames = env.get_images()
    assert [frame.dtype for frame in frames] == [np.uint8, np.uint8]
    assert env.render(mode="rgb_array").ndim == 3


def test_dict_observations_of_stable_baselines3() -> None:
    sb3 = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    env = make_env(("observation", "action_mask"))
    model = sb3.MaskablePPO("MultiInputPolicy", env, n_steps=64, seed=0)
    obs, mask, view = positions()
    given, _ = model.policy.obs_to_tensor({"observation": obs, "action_mask": mask})
    said = model.policy.get_distribution(given, mask).distribution.probs.detach().numpy()
    ours = as_policy(model, GAME).probabilities(view, mask, None)
    np.testing.assert_allclose(ours, said, atol=1e-5)


@pytest.mark.parametrize("name", ["DQN", "QRDQN"])
def test_values_of_stable_baselines3(name: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    if name == "QRDQN":
        sb3 = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    model = getattr(sb3, name)("MlpPolicy", make_env(), seed=0, buffer_size=100)
    policy = as_policy(model.policy, GAME)
    obs, mask, view = positions()
    said, _ = model.predict(obs, deterministic=True)
    ours = policy.act(view, mask, None, Streams.spawn(np.random.default_rng(0), len(view)))
    allowed = mask[np.arange(len(said)), said]
    assert policy.deterministic and allowed.any() and not allowed.all()
    np.testing.assert_array_equal(ours[allowed], said[allowed])


def test_recurrent_ppo() -> None:
    sb3 = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    size = {"lstm_hidden_size": 16, "n_lstm_layers": 2}
    model = sb3.RecurrentPPO("MlpLstmPolicy", make_env(), seed=0, policy_kwargs=size)

    def stepped(turns: list[Any]) -> Any:
        blank = torch.zeros(model.policy.lstm_hidden_state_shape)
        state = blank, blank
        for k, obs in enumerate(turns):
            given, begins = torch.from_numpy(obs), torch.tensor([float(k == 0)])
            distribution, state = model.policy.get_distribution(given, state, begins)
        return distribution.distribution.probs.detach().numpy()

    require_remembers(as_policy(model, GAME), stepped)


def test_normalized_observations(caplog: pytest.LogCaptureFixture) -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    env = VecNormalize(DummyVecEnv([make_env]))
    model = sb3.PPO("MlpPolicy", env, n_steps=64, seed=0)
    model.learn(64)
    obs, mask, view = positions()
    given, _ = model.policy.obs_to_tensor(env.normalize_obs(obs))
    said = model.policy.get_distribution(given).distribution.probs.detach().numpy() * mask
    ours = as_policy(model, GAME, normalize=env).probabilities(view, mask, None)
    np.testing.assert_allclose(ours, said / said.sum(axis=1, keepdims=True), atol=1e-5)
    assert not caplog.records
    raw = as_policy(model, GAME).probabilities(view, mask, None)
    assert "give normalize=model.get_vec_normalize_env()" in caplog.text
    assert abs(ours - raw).max() > 1e-3


def test_what_stable_baselines3_cannot_play() -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    model = sb3.PPO("MlpPolicy", make_env(), n_steps=64, seed=0)
    said = "<CallablePolicy of PPO, which returns logits, with the values of the critic of PPO>"
    assert repr(as_policy(model, GAME)) == said
    larger = HanabiGame(players=2, **(SMALL | {"hand_size": 3}))
    with pytest.raises(UnsupportedError, match=f"of {larger.num_actions} actions"):
        as_policy(model, larger)
    with pytest.raises(UnsupportedError, match=r"of shape \(\d+,\), which is 'packed'"):
        as_policy(model, GAME, encoding="packed")
    with pytest.raises(UnsupportedError, match="has the encodings openspiel"):
        as_policy(model, GAME, encoding="braille")
    for given in ("model.zip", sb3.PPO):
        with pytest.raises(
            UnsupportedError, match=r"expected a model, as PPO.load.*: load it first"
        ):
            as_policy(given, GAME)
    with pytest.raises(UnsupportedError, match="expected a model with a distribution"):
        as_policy(3, GAME)
    env = make_env(("one", "two"))
    with pytest.raises(UnsupportedError, match="got a Dict of one, two"):
        as_policy(sb3.PPO("MultiInputPolicy", env, n_steps=64), GAME)


def test_critics_of_stable_baselines3() -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    obs, mask, _ = positions()
    env = VecNormalize(DummyVecEnv([make_env]))
    model = sb3.PPO("MlpPolicy", env, n_steps=64, seed=0)
    model.learn(64)
    given, _ = model.policy.obs_to_tensor(env.normalize_obs(obs))
    said = model.policy.predict_values(given).detach().numpy()[:, 0]
    spread = np.sqrt(env.ret_rms.var + env.epsilon)  # rewards were divided by it
    require_values(as_policy(model, GAME, normalize=env), said * spread)
    masked = contrib.MaskablePPO("MlpPolicy", make_env(), n_steps=64, seed=0)
    given, _ = masked.policy.obs_to_tensor(obs)
    said = masked.policy.predict_values(given).detach().numpy()[:, 0]
    require_values(as_policy(masked, GAME), said)
    # As it is trained: with a partner that has no values.
    mixed = (as_policy(masked, GAME, combine="central"), PARTNER)
    agent = upgrade(mixed, GAME, Lbs(depth=2, rollouts=60, min_rollouts=3), epsilon=0.1)
    assert evaluate(GAME, (agent, PARTNER), games=1).to_dict()["rollouts_per_game"] > 50
    mixed = (as_policy(masked, GAME), PARTNER)
    with pytest.raises(UnsupportedError, match="where the blueprint has values"):
        upgrade(mixed, GAME, Lbs(depth=2, rollouts=60, min_rollouts=3), epsilon=0.1)
    dqn = sb3.DQN("MlpPolicy", make_env(), seed=0, buffer_size=100)
    worth = dqn.q_net(torch.from_numpy(obs)).detach().numpy()
    require_values(as_policy(dqn, GAME), np.where(mask, worth, -np.inf).max(axis=1))


@pytest.mark.parametrize("shared", [True, False])
def test_critics_of_recurrent_ppo(shared: bool) -> None:
    sb3 = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    size = {"lstm_hidden_size": 16, "shared_lstm": shared, "enable_critic_lstm": False}
    model = sb3.RecurrentPPO("MlpLstmPolicy", make_env(), n_steps=64, seed=0, policy_kwargs=size)
    policy = as_policy(model, GAME)
    assert isinstance(policy, Value)
    obs, _, view = positions()
    blank = torch.zeros(1, len(obs), 16)
    running = torch.zeros(len(obs))
    said = model.policy.predict_values(torch.from_numpy(obs), (blank, blank), running)
    ours = policy.value(view, policy.start(view))
    np.testing.assert_allclose(ours, said.detach().numpy()[:, 0], atol=1e-5)
    require_cuts(policy)
    own = sb3.RecurrentPPO("MlpLstmPolicy", make_env(), n_steps=64)  # a state that nobody keeps
    assert not isinstance(as_policy(own, GAME), Value)


# -------------------------------------------------------------------------------------- RLlib


def test_rllib(tmp_path: Path) -> None:
    pytest.importorskip("ray.rllib", reason="ray[rllib] is not installed")
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module import RLModule, RLModuleSpec
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import (
        ActionMaskingTorchRLModule,
    )
    from ray.tune import register_env

    from hanabi_search_plugin.wrappers.rllib import as_policy

    register_env("small hanabi", lambda _: make_env(("observations", "action_mask")))
    spec = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [64, 64]}
    )
    config = PPOConfig().environment("small hanabi").rl_module(rl_module_spec=spec)
    config = config.env_runners(num_env_runners=0).learners(num_learners=0).debugging(seed=0)
    config = config.training(
        train_batch_size_per_learner=1000, minibatch_size=250, num_epochs=8, lr=3e-3
    )
    # A cluster of its own, also where another test runs one.
    ray.init(
        "local", num_cpus=1, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True
    )
    try:
        algorithm = config.build_algo()
        before = scores(as_policy(algorithm, GAME))
        for _ in range(3):
            algorithm.train()
        trained = as_policy(algorithm, GAME)
        algorithm.save_to_path(str(tmp_path))
        modules = tmp_path / "learner_group" / "learner" / "rl_module"
        loaded = RLModule.from_checkpoint(str(modules / "default_policy"))

        def chances(obs: Any, mask: Any) -> Any:
            given = {"observations": torch.from_numpy(obs), "action_mask": torch.from_numpy(mask)}
            given["action_mask"] = given["action_mask"].float()
            out = loaded.forward_inference({"obs": given})["action_dist_inputs"]
            return torch.softmax(out.detach(), 1).numpy()

        require_trained(before, trained, as_policy(loaded, GAME), chances)
        with pytest.raises(UnsupportedError, match="a MultiRLModule of default_policy"):
            as_policy(RLModule.from_checkpoint(str(modules)), GAME)
        algorithm.stop()
    finally:
        ray.shutdown()


def test_rllib_modules_by_themselves() -> None:
    pytest.importorskip("ray.rllib", reason="ray[rllib] is not installed")
    from ray.rllib.algorithms.dqn import DQNConfig
    from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import DefaultDQNTorchRLModule
    from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule

    from hanabi_search_plugin.wrappers.rllib import as_policy

    env = make_env()
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    lstm = {"use_lstm": True, "lstm_cell_size": 16, "max_seq_len": 20}
    module = DefaultPPOTorchRLModule(**spaces, model_config=lstm)

    def stepped(turns: list[Any]) -> Any:
        state = {k: torch.as_tensor(v)[None] for k, v in module.get_initial_state().items()}
        for obs in turns:
            given = {"obs": torch.from_numpy(obs)[None], "state_in": state}
            out = module.forward_inference(given)
            state = out["state_out"]
        return torch.softmax(out["action_dist_inputs"][0].detach(), 1).numpy()

    require_remembers(as_policy(module, GAME), stepped)

    values = DefaultDQNTorchRLModule(**spaces, model_config=DQNConfig().model_config)
    policy = as_policy(values, GAME)
    obs, mask, view = positions()
    said = values.compute_q_values({"obs": torch.from_numpy(obs)})["qf_preds"].detach().numpy()
    ours = policy.act(view, mask, None, Streams.spawn(np.random.default_rng(0), len(view)))
    np.testing.assert_array_equal(ours, np.where(mask, said, -np.inf).argmax(axis=1))
    with pytest.raises(UnsupportedError, match="expected an RLModule in PyTorch"):
        as_policy(torch.nn.Linear(SIZE, ACTIONS), GAME)


def test_critics_of_rllib() -> None:
    pytest.importorskip("ray.rllib", reason="ray[rllib] is not installed")
    from ray.rllib.algorithms.dqn import DQNConfig
    from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import DefaultDQNTorchRLModule
    from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import (
        ActionMaskingTorchRLModule,
    )

    from hanabi_search_plugin.wrappers.rllib import as_policy

    obs, mask, view = positions()
    given = torch.from_numpy(obs)
    env = make_env()
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    for shared in (True, False):
        settings = {"fcnet_hiddens": [16], "vf_share_layers": shared}
        module = DefaultPPOTorchRLModule(**spaces, model_config=settings)
        said = module.compute_values({"obs": given}).detach().numpy()
        require_values(as_policy(module, GAME), said)

        lstm = {"use_lstm": True, "lstm_cell_size": 16, "max_seq_len": 20}
        module = DefaultPPOTorchRLModule(**spaces, model_config=lstm | {"vf_share_layers": shared})
        policy = as_policy(module, GAME)
        state = torch.utils._pytree.tree_map(
            lambda leaf: torch.as_tensor(leaf).expand(len(obs), *leaf.shape),
            module.get_initial_state(),
        )
        said = module.compute_values({"obs": given[:, None], "state_in": state})[:, 0]
        assert isinstance(policy, Value)
        ours = policy.value(view, policy.start(view))
        np.testing.assert_allclose(ours, said.detach().numpy(), atol=1e-5)
        require_cuts(policy)
    values = DefaultDQNTorchRLModule(**spaces, model_config=DQNConfig().model_config)
    worth = values.compute_q_values({"obs": given})["qf_preds"].detach().numpy()
    require_values(as_policy(values, GAME), np.where(mask, worth, -np.inf).max(axis=1))

    env = make_env(("observations", "action_mask"))
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    module = ActionMaskingTorchRLModule(**spaces, model_config={"fcnet_hiddens": [16]})
    seen = {"observations": given, "action_mask": torch.from_numpy(mask).float()}
    said = module.compute_values({"obs": seen}).detach().numpy()
    require_values(as_policy(module, GAME), said)


# ----------------------------------------------------------------------------------- Tianshou


def test_tianshou(tmp_path: Path) -> None:
    pytest.importorskip("tianshou", reason="tianshou is not installed")
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Batch, Collector, CollectStats, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.trainer import OffPolicyTrainerParams
    from tianshou.utils.net.common import Net

    from hanabi_search_plugin.wrappers.tianshou import as_policy

    def make_policy() -> Any:
        torch.manual_seed(0)
        net = Net(state_shape=(SIZE,), action_shape=ACTIONS, hidden_sizes=[64, 64])
        space = make_env().action_space
        return DiscreteQLearningPolicy(model=net, action_space=space, eps_training=0.2)

    np.random.seed(0)
    policy = make_policy()
    optim = AdamOptimizerFactory(lr=1e-3)
    algorithm = DQN(policy=policy, optim=optim, gamma=0.97, target_update_freq=100)
    before = scores(as_policy(algorithm, GAME))
    envs = DummyVectorEnv([lambda: make_env(("obs", "mask"))] * 8)
    envs.seed(0)
    buffer = VectorReplayBuffer(20_000, 8)
    collector: Any = Collector[CollectStats](algorithm, envs, buffer, exploration_noise=True)
    collector.reset()
    params = OffPolicyTrainerParams(
        training_collector=collector, max_epochs=1, epoch_num_steps=4000, batch_size=128,
        collection_step_num_env_steps=64, update_step_num_gradient_steps_per_sample=0.1,
        test_step_num_episodes=0, show_progress=False, verbose=False,
    )  # fmt: skip
    algorithm.run_training(params)
    torch.save(policy.state_dict(), tmp_path / "policy.pth")
    loaded = make_policy()
    loaded.load_state_dict(torch.load(tmp_path / "policy.pth", weights_only=True))

    def chances(obs: Any, mask: Any) -> Any:
        batch = Batch(obs=Batch(obs=obs, mask=mask), info=Batch())
        return np.eye(ACTIONS)[loaded.eval()(batch).act]

    require_trained(before, as_policy(algorithm, GAME), as_policy(loaded, GAME), chances)


def test_models_of_other_libraries() -> None:
    """Each wrapper, and ``from_callable``, says what it takes and which wrapper takes the rest."""
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    from sb3_contrib import RecurrentPPO
    from stable_baselines3 import PPO

    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    env = make_env()
    model = PPO("MlpPolicy", env, n_steps=8, device="cpu")
    for given in (model, model.policy, model.predict):
        with pytest.raises(UnsupportedError, match=r"wrappers\.stable_baselines3\.as_policy"):
            from_callable(given, returns="actions")
    recurrent = as_policy(RecurrentPPO("MlpLstmPolicy", env, n_steps=8, device="cpu"), GAME)
    with pytest.raises(UnsupportedError, match="enable_critic_lstm"):
        upgrade(recurrent, GAME, Lbs(depth=2, rollouts=20, min_rollouts=2))
    pytest.importorskip("tianshou", reason="tianshou is not installed")
    from hanabi_search_plugin.wrappers.tianshou import as_policy as of_tianshou

    for given in (model, model.policy, torch.nn.Linear(SIZE, ACTIONS)):
        with pytest.raises(UnsupportedError, match="expected a Policy or an Algorithm of Tianshou"):
            of_tianshou(given, GAME)


def test_tianshou_policies_by_themselves() -> None:
    pytest.importorskip("tianshou", reason="tianshou is not installed")
    from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
    from tianshou.data import Batch
    from tianshou.utils.net.common import Net, Recurrent
    from tianshou.utils.net.discrete import DiscreteActor

    from hanabi_search_plugin.wrappers.tianshou import as_policy

    class MaskedActor(torch.nn.Module):
        """Of ``obs.obs``, with illegal actions left out by ``obs.mask``."""

        def __init__(self, actor: Any) -> None:
            super().__init__()
            self.actor = actor

        def forward(self, obs: Any, state: Any = None, info: Any = None) -> Any:
            logits, state = self.actor(obs.obs, state)
            mask = torch.as_tensor(obs.mask, dtype=torch.bool)
            return logits.masked_fill(~mask, -1e9), state

    space = make_env().action_space
    obs, mask, view = positions()
    net = Net(state_shape=(SIZE,), hidden_sizes=[16])
    actor = DiscreteActor(preprocess_net=net, action_shape=ACTIONS, softmax_output=False)
    said = torch.softmax(actor(obs)[0].detach(), 1).numpy() * mask
    said /= said.sum(axis=1, keepdims=True)
    for network, masked in ((actor, False), (MaskedActor(actor), True)):
        policy = as_policy(
            DiscreteActorPolicy(actor=network, action_space=space), GAME, masked=masked
        )
        assert not policy.deterministic
        np.testing.assert_allclose(policy.probabilities(view, mask, None), said, atol=1e-5)

    lstm = Recurrent(layer_num=2, state_shape=SIZE, action_shape=ACTIONS, hidden_layer_size=16)
    recurrent = DiscreteActorPolicy(actor=lstm, action_space=space)

    def stepped(turns: list[Any]) -> Any:
        state = None
        for turn in turns:
            result = recurrent(Batch(obs=turn, info=Batch()), state)
            state = result.state
        return result.dist.probs.detach().numpy()

    require_remembers(as_policy(recurrent, GAME), stepped)
    with pytest.raises(UnsupportedError, match="expected a Policy or an Algorithm of Tianshou"):
        as_policy(lstm, GAME)


def test_critics_of_tianshou() -> None:
    pytest.importorskip("tianshou", reason="tianshou is not installed")
    from tianshou.algorithm import PPO
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.utils.net.common import Net
    from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

    from hanabi_search_plugin.wrappers.tianshou import as_policy

    obs, mask, _ = positions()
    space = make_env().action_space
    net = Net(state_shape=(SIZE,), hidden_sizes=[16])
    actor = DiscreteActor(preprocess_net=net, action_shape=ACTIONS, softmax_output=False)
    critic = DiscreteCritic(preprocess_net=Net(state_shape=(SIZE,), hidden_sizes=[16]))
    policy = DiscreteActorPolicy(actor=actor, action_space=space)
    algorithm = PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3))
    said = critic(torch.from_numpy(obs)).detach().numpy().flatten()
    require_values(as_policy(algorithm, GAME), said)
    assert not isinstance(as_policy(policy, GAME), Value)  # it has none of its own
    net = Net(state_shape=(SIZE,), action_shape=ACTIONS, hidden_sizes=[16])
    values = DiscreteQLearningPolicy(model=net, action_space=space)
    worth = net(obs)[0].detach().numpy()
    require_values(as_policy(values, GAME), np.where(mask, worth, -np.inf).max(axis=1))


# ------------------------------------------------------------------------------ a plain module


class Agent(torch.nn.Module):
    """Actor and critic as CleanRL writes them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.actor = torch.nn.Sequential(
            torch.nn.Linear(SIZE, 64), torch.nn.Tanh(), torch.nn.Linear(64, ACTIONS)
        )
        self.critic = torch.nn.Linear(SIZE, 1)

    def distribution(self, obs: Any, mask: Any) -> Any:
        logits = self.actor(torch.as_tensor(obs, dtype=torch.float32))
        wrong = ~torch.as_tensor(mask, dtype=torch.bool)
        return torch.distributions.Categorical(logits=logits.masked_fill(wrong, -1e9))


@pytest.mark.parametrize(
    ("wrapper", "needs", "thing"),
    [
        ("stable_baselines3", "stable_baselines3", "model"),
        ("rllib", "ray.rllib", "module"),
        ("tianshou", "tianshou", "policy"),
    ],
)
def test_a_game_in_the_place_of_the_model(wrapper: str, needs: str, thing: str) -> None:
    pytest.importorskip(needs, reason=f"{needs} is not installed")
    as_policy = import_module(f"hanabi_search_plugin.wrappers.{wrapper}").as_policy
    says = rf"come as in as_policy\({thing}, game\), got a Linear in the place of the game"
    with pytest.raises(UnsupportedError, match=says):
        as_policy(GAME, torch.nn.Linear(SIZE, ACTIONS))


def test_a_plain_module(tmp_path: Path) -> None:
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
    env = gymnasium.make_vec(ID, 128, partners="cautious", autoreset_mode="SameStep", **SMALL)
    obs, info = env.reset(seed=0)

    def wrapped(module: Agent) -> Policy:
        return from_callable(lambda obs, mask: module.distribution(obs, mask).logits,
                             returns="logits")  # fmt: skip

    before = scores(wrapped(agent))
    for _ in range(60):  # advantage actor-critic, of 8 steps
        seen, gain = [], torch.zeros(128)
        for _ in range(8):
            chances = agent.distribution(obs, info["action_mask"])
            action = chances.sample()
            value = agent.critic(torch.as_tensor(obs, dtype=torch.float32)).squeeze(1)
            obs, reward, over, _, info = env.step(action.numpy())
            paid = torch.as_tensor(reward, dtype=torch.float32)
            on = 1 - torch.as_tensor(over, dtype=torch.float32)
            seen.append((chances.log_prob(action), chances.entropy(), value, paid, on))
        gain = agent.critic(torch.as_tensor(obs, dtype=torch.float32)).squeeze(1).detach()
        loss = torch.zeros(())
        for chance, entropy, value, paid, on in reversed(seen):
            gain = paid + 0.97 * on * gain
            surprise = (gain - value).detach()
            loss = loss + (-surprise * chance + 0.5 * (value - gain) ** 2 - 0.01 * entropy).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(agent.state_dict(), tmp_path / "agent.pth")
    loaded = Agent()
    loaded.load_state_dict(torch.load(tmp_path / "agent.pth", weights_only=True))
    require_trained(
        before, wrapped(agent), wrapped(loaded),
        lambda obs, mask: loaded.distribution(obs, mask).probs.detach().numpy(),
    )  # fmt: skip
